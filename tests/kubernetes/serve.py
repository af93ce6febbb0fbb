"""Two gateways over HTTP in front of one cluster: one is killed in mid-command, and the other has the result."""
import http.client
import json
import os
import subprocess
import tempfile
import threading
import time


class Gateway:
    def __init__(self, options, places):
        words = [options.gateway, "serve", "--places", places, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "listens on http://" in line:
                self.address = line.split("http://")[1].split("/mcp")[0]
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def post(self, message, session=None, call=None, seconds=180):
        headers = {"Authorization": "Bearer alice-token", "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25"}
        if session:
            headers["Mcp-Session-Id"] = session
        if call:
            headers["Testudo-Call-Id"] = call
        connection = http.client.HTTPConnection(self.address, timeout=seconds)
        connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        found = [line[5:] for line in body.splitlines() if line.startswith("data:") and line[5:].strip()] or [body]
        return answer, [json.loads(one) for one in found if one.strip()]


def run(options, namespace, check, kubectl):
    directory = tempfile.mkdtemp()
    path = lambda name: os.path.join(directory, name)
    with open(path("tokens"), "w") as file:
        file.write("alice alice-token\n")
    with open(path("places.toml"), "w") as file:
        file.write(f'token_file = "{path("tokens")}"\nkey_file = "{path("key")}"\ndirectory = "{path("run")}"\n'
                   f'[[place]]\nname = "work"\nplace = "kubernetes:{namespace}/work"\nprogram_image = "{options.program_image}"\n')
    one, two = Gateway(options, path("places.toml")), Gateway(options, path("places.toml"))
    try:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
        answer, _ = one.post(hello)
        session = answer.headers["Mcp-Session-Id"]
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "bash", "arguments": {"command": "echo x >> /tmp/ledger; sleep 8; cat /tmp/ledger; exit 5"}}}
        thread = threading.Thread(target=lambda: quiet(lambda: one.post(call, session, "0c7d6f9e-3f7b-4c55-9a55")))
        thread.start()
        time.sleep(3)
        one.process.kill()
        thread.join()
        call["id"] = 3
        _, messages = two.post(call, session, "0c7d6f9e-3f7b-4c55-9a55")
        result = messages[-1]["result"]
        good = result["content"][0]["text"] == "exit_code: 5\n\nstdout:\nx\n" and result["_meta"]["testudo/outcome"] == "finished"
        check("a gateway is killed in mid-command, and the other has the result of the one run", good, repr(result)[:200])
        connection = http.client.HTTPConnection(two.address)
        connection.request("DELETE", "/mcp", headers={"Authorization": "Bearer alice-token", "Mcp-Session-Id": session})
        check("the other gateway ends the place", connection.getresponse().status < 300)
    finally:
        for gateway in (one, two):
            gateway.process.terminate()
            gateway.process.wait()


def quiet(work):
    try:
        work()
    except OSError:
        pass
