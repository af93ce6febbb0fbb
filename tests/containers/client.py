"""An MCP client that starts the server in a container, as people do."""
import json, urllib.request

from engine import IMAGE

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Client:
    def __init__(self, engine, name, flags, arguments=()):
        self.process = engine.start("run", "--rm", "-i", "--name", name, *flags, IMAGE, "testudo", *arguments)
        self.ids = 0
        self.level = self.request("initialize", HELLO)["result"]["instructions"].split("Sandbox: ")[1].split(",")[1].strip()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.ids += 1
        self.send({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.ids:
                return answer
        raise AssertionError("the server has gone: " + self.process.stderr.read())

    def call(self, tool, **arguments):
        """The text of the answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        return ("ERR " if result.get("isError") else "") + "".join(part.get("text", "") for part in result["content"])

    def bash(self, command, **arguments):
        return self.call("bash", command=command, **arguments)

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(30)
        return code, self.process.stderr.read()


def http(port, token, method, params, session=None):
    """One request to a server that listens on this machine, and the id of its protocol session."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json",
               "accept": "application/json, text/event-stream"}
    if session:
        headers["mcp-session-id"] = session
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:") and "{" in line] or [text]
        return json.loads(lines[-1]), answer.headers.get("mcp-session-id")
