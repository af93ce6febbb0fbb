"""Measures facts about servers that run commands for agents, and prints them as a table in Markdown.

    compare.py TESTUDO

Each server is started with its defaults over stdio, in a project below a home of its own. The person's own settings are not
touched. Times are medians.
"""

import dataclasses
import json
import os
import pathlib
import queue
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "target/peers"


@dataclasses.dataclass
class Server:
    name: str
    command: list
    tool: str
    # From shell text to the tool's arguments.
    arguments: callable
    environment: dict = dataclasses.field(default_factory=dict)
    has_shell: bool = True


class Connection:
    def __init__(self, server, home, project):
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **server.environment}
        self.server, self.ids, self.answers = server, 0, queue.Queue()
        self.process = subprocess.Popen(server.command, cwd=project, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self.read, daemon=True).start()
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "compare", "version": "1"}}
        self.request("initialize", client)
        self.send({"method": "notifications/initialized"})

    def read(self):
        for line in self.process.stdout:
            try:
                self.answers.put(json.loads(line))
            except ValueError:
                continue

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params, within=60):
        """The result, or None if none came in time."""
        self.ids += 1
        self.send({"id": self.ids, "method": method, "params": params})
        end = time.monotonic() + within
        while True:
            try:
                answer = self.answers.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                return None
            if answer.get("id") == self.ids:
                return answer.get("result", {})

    def run(self, text, within=60):
        return self.request("tools/call", {"name": self.server.tool, "arguments": self.server.arguments(text)}, within)


def milliseconds(action, times):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1000)
    return f"{statistics.median(taken):.1f} ms" if statistics.median(taken) < 100 else f"{statistics.median(taken):.0f} ms"


def running(word):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"sleep\0" + word.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def until(condition, within):
    end = time.monotonic() + within
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def measure(server):
    with tempfile.TemporaryDirectory(dir=PEERS, prefix="world-", ignore_cleanup_errors=True) as scratch:
        home = pathlib.Path(scratch).resolve()
        project = home / "project"
        (home / ".ssh").mkdir()
        (home / ".ssh/id_ed25519").write_text("a-private-key\n")
        project.mkdir()

        def start():
            connection = Connection(server, home, project)
            listed = connection.request("tools/list", {})
            connection.process.kill()
            return listed

        tools = start()["tools"]
        facts = {"tools, and the size of their list": f"{len(tools)}, {len(json.dumps(tools)) / 1024:.1f} KB"}
        facts["start to answered `tools/list`"] = milliseconds(start, 5)
        connection = Connection(server, home, project)
        facts["`true`, round trip"] = milliseconds(lambda: connection.run("true"), 30)
        key = json.dumps(connection.run(f"cat {home}/.ssh/id_ed25519"))
        facts["a command reads `~/.ssh/id_ed25519`"] = "yes" if "a-private-key" in key else "no"
        connection.run(f"touch {home}/outside")
        facts["a command writes outside the project"] = "yes" if (home / "outside").exists() else "no"
        connection.run(f"mkdir -p {project}/.git/hooks")
        connection.run(f"cp /bin/true {project}/.git/hooks/pre-commit")
        planted = until(lambda: not (project / ".git/hooks/pre-commit").exists(), 5)
        facts["a command leaves a git hook behind"] = "no" if planted else "yes"
        word = f"{random.randrange(10**6, 10**7)}.5"
        answered = connection.run(f"sleep {word} &", within=20) is not None
        facts["`sleep 1000 &` is answered within 20 s"] = ("yes" if answered else "no") if server.has_shell else "no shell"
        connection.process.kill()
        connection = Connection(server, home, project)
        kept = random.randrange(10**6, 10**7)
        threading.Thread(target=connection.run, args=(f"setsid sleep {kept}",), daemon=True).start()
        ran = until(lambda: bool(running(str(kept))), 20)
        connection.process.send_signal(signal.SIGKILL)
        left = not until(lambda: not running(str(kept)), 5)
        facts["`setsid` child lives on after `kill -9` of the server"] = ("yes" if left else "no") if ran else "did not run"
        for pid in running(word) + running(str(kept)):
            os.kill(pid, signal.SIGKILL)
        return facts


def shell_words(text):
    return {"command": text.split(), "directory": "."}


def main(testudo):
    allowed = "true,cat,touch,mkdir,cp,sleep,setsid"
    servers = [
        Server("testudo", [testudo, "--log-level", "error"], "bash", lambda text: {"command": text}),
        Server("Desktop Commander 0.2.52", ["node", PEERS / "node_modules/@wonderwhy-er/desktop-commander/dist/index.js"],
               "start_process", lambda text: {"command": text, "timeout_ms": 60_000}),
        Server("mcp-server-commands 0.5.0", [PEERS / "node_modules/.bin/mcp-server-commands"], "run_command",
               lambda text: {"command": text}),
        Server("mcp-shell-server 1.1.14", [PEERS / "venv/bin/mcp-shell-server"], "shell_execute", shell_words,
               {"ALLOW_COMMANDS": allowed}, has_shell=False),
    ]
    columns = [(server.name, measure(server)) for server in servers]
    print("| | " + " | ".join(name for name, _ in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for fact in columns[0][1]:
        print(f"| {fact} | " + " | ".join(facts[fact] for _, facts in columns) + " |")


main(sys.argv[1])
