"""Two gateways over HTTP in front of one cluster: one is killed in mid-command, and the other has the result."""
import http.client
import itertools
import json
import os
import subprocess
import tempfile
import threading
import time


class Http:
    """A client of the gateway at an address."""

    address, token, numbers = None, "alice-token", itertools.count(2)

    def post(self, message, session=None, call=None, seconds=180, path="/mcp"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25"}
        if session:
            headers["Mcp-Session-Id"] = session
        if call:
            headers["Testudo-Call-Id"] = call
        connection = http.client.HTTPConnection(self.address, timeout=seconds)
        connection.request("POST", path, json.dumps(message), headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        found = [line[5:] for line in body.splitlines() if line.startswith("data:") and line[5:].strip()] or [body]
        return answer, [json.loads(one) for one in found if one.strip()]

    def begin(self, path="/mcp"):
        """Returns the id of a new session."""
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        answer, messages = self.post(hello, path=path)
        session = answer.headers["Mcp-Session-Id"]
        if not session:
            raise SystemExit(f"no session at {path}: {answer.status} {messages}")
        return session

    def bash(self, session, command, call=None, path="/mcp"):
        """Returns the result of a command."""
        message = {"jsonrpc": "2.0", "id": next(self.numbers), "method": "tools/call",
                   "params": {"name": "bash", "arguments": {"command": command}}}
        _, messages = self.post(message, session, call, path=path)
        return messages[-1]["result"]

    def end(self, session, path="/mcp"):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("DELETE", path, headers={"Authorization": f"Bearer {self.token}", "Mcp-Session-Id": session})
        return connection.getresponse().status


class Gateway(Http):
    """A gateway on this machine."""

    def __init__(self, options, places):
        words = [options.gateway, "serve", "--places", places, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "listens on http://" in line:
                self.address = line.split("http://")[1].split("/mcp")[0]
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()


def one_run(one, two, kill, check, name):
    """A command is started at `one`, which `kill` ends in mid-command; the call is repeated at `two` with its id."""
    session = one.begin()
    command, call = "echo x >> ledger; sleep 8; cat ledger; exit 5", os.urandom(16).hex()
    thread = threading.Thread(target=lambda: quiet(lambda: one.bash(session, command, call)))
    thread.start()
    while "sleep 8" not in two.bash(session, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")["content"][0]["text"]:
        time.sleep(0.2)
    kill()
    thread.join()
    result = two.bash(session, command, call)
    good = result["content"][0]["text"] == "exit_code: 5\n\nstdout:\nx\n" and result["_meta"]["testudo/outcome"] == "finished"
    check(name, good, repr(result)[:200])
    return session


def run(options, namespace, check):
    directory = tempfile.mkdtemp()
    path = lambda name: os.path.join(directory, name)
    with open(path("tokens"), "w") as file:
        file.write("alice alice-token\n")
    with open(path("places.toml"), "w") as file:
        file.write(f'token_file = "{path("tokens")}"\nkey_file = "{path("key")}"\ndirectory = "{path("run")}"\n'
                   f'[[place]]\nname = "work"\nplace = "kubernetes:{namespace}/work"\nprogram_image = "{options.program_image}"\n')
    one, two = Gateway(options, path("places.toml")), Gateway(options, path("places.toml"))
    try:
        session = one_run(one, two, one.process.kill, check,
                          "a gateway is killed in mid-command, and the other has the result of the one run")
        check("the other gateway ends the place", two.end(session) < 300)
    finally:
        for gateway in (one, two):
            gateway.process.terminate()
            gateway.process.wait()


def quiet(work):
    try:
        work()
    except (OSError, http.client.HTTPException, LookupError):
        pass
