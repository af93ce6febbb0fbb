"""What agents do with the server, and what has to reach the model."""

import base64
import os
import random
import re
import signal
import subprocess
import time

from roster import BINARY, HERE, TOOLS, World

# A red square of 8 by 8 pixels.
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC")
# After so long something hangs. A run on a loaded machine takes minutes, so it says nothing about speed.
PATIENCE = 900


class Run:
    """One conversation with one agent."""

    def __init__(self, model, agent, scenario, script, options=(), world=None):
        self.world = world or World(agent.name)
        self.name = f"{agent.name}-{scenario}"
        self.talk = model.talk(self.name, script)
        self.agent, self.url, self.options = agent, model.url(self.name), list(options)

    def prepare(self):
        self.agent.prepare(self.world, self.url, self.options)
        return self

    def start(self):
        command, environment = self.agent.command(self.world, self.url)
        self.log = open(self.world.home / "agent.log", "w+")
        return subprocess.Popen(command, env=environment, cwd=self.world.project, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)

    def finish(self):
        """Runs the conversation to its end and gives the results that reached the model."""
        process = self.start()
        try:
            process.wait(PATIENCE)
        finally:
            process.poll() is None and process.kill()
        assert self.talk.finished, f"the script was not played to its end\n{self.end_of_log()}"
        return self.talk.results

    def debug_log(self):
        return "".join(file.read_text() for file in self.world.home.glob(".claude/debug/*.txt"))

    def end_of_log(self):
        self.log.seek(0)
        return self.log.read()[-3000:]


def has(result, *wanted):
    for text in wanted:
        assert text in result.text, f"expected {text!r} in {result.text[:1500]!r}"


def takes_a_minute(model, agent):
    """Clients give up on a silent call after 60 seconds or so. No command may be lost to that."""
    def read(results):
        goes_on = "task_id: t1" in results[-1].text
        return ("task_output", {"task_id": "t1", "wait_ms": 40_000}) if goes_on else None

    run = Run(model, agent, "minute", [("bash", {"command": "sleep 70; echo woke"}), read]).prepare()
    results = run.finish()
    has(results[-1], "exit_code: 0", "woke")
    assert (len(results) == 1) == agent.waits, f"{len(results)} calls: {results[0].text[:200]!r}"
    if not agent.waits:
        has(results[0], "Command still running after 50000ms")


def works(model, agent):
    both = "seq 1 40000; seq 1 40000 >&2; echo last >&2; exit 1"
    script = [
        ("bash", {"command": "pwd"}),
        ("bash", {"command": "exit 3"}),
        ("bash", {"command": ""}),
        ("bash", {"command": "seq 1 40000"}),
        ("task_output", {"task_id": "o1", "grep": "^39999$"}),
        ("bash", {"command": both}),
        ("view", {"path": "picture.png"}),
        ("bash", {"command": "sleep 1; echo woke", "run_in_background": True}),
        ("task_output", {"task_id": "t1", "wait_ms": 30_000}),
        ("bash", {"command": "cd /; export KEPT=yes"}),
        ("bash", {"command": "echo $KEPT $PWD"}),
    ]
    run = Run(model, agent, "works", script)
    (run.world.project / "picture.png").write_bytes(PICTURE)
    results = run.prepare().finish()
    assert len(results) == len(script), f"{len(results)} results for {len(script)} calls"
    where, three, empty, long, found, streams, picture, started, woke, moved, kept = results

    has(where, "exit_code: 0", str(run.world.project))
    has(three, "exit_code: 3")
    has(empty, "command must not be empty")
    assert empty.is_error == agent.keeps_error_flag, f"the error flag is {empty.is_error}"
    assert not any(result.is_error for result in results if result is not empty), "a result became an error"
    has(long, "stored: o1 (228894 characters)", "\n1\n2\n3\n")
    assert len(long.text) >= agent.characters, f"only {len(long.text)} characters of the long output"
    has(found, "39999")
    # Where a client cuts, this line near the top still names what was stored.
    has(streams, "exit_code: 1", "stored: o2")
    if agent.keeps_end:
        has(long, "[Truncated: output was 228894 characters, showing first 30000]", 'task_output with task_id="o1"')
    if agent.characters >= 30_000:
        has(streams, "showing first 30000", "\nlast\n")
    assert picture.images == agent.shows_pictures, f"{picture.images} images: {picture.text[:300]!r}"
    has(started, "task_id: t1", "Command started in background.")
    has(woke, "status: completed", "exit_code: 0", "woke")
    has(moved, "cwd: /")
    has(kept, "yes /")
    told = "remembers cwd and exported" in run.talk.body
    assert told == agent.shows_instructions, f"instructions reached the model: {told}"
    # Claude Code complains there about a progress message that comes after its answer.
    complaints = [line[:300] for line in run.debug_log().splitlines() if "unknown token" in line]
    assert not complaints, complaints


def reads_the_guide(model, agent):
    """These agents give the model a tool of their own that reads a server's resources."""
    script = [("read_mcp_resource", {"server": "testudo", "uri": "testudo://guide"})]
    result, = Run(model, agent, "guide", script).prepare().finish()
    has(result, "# How to work with testudo", "wait_for")


def is_asked(model, agent):
    """A rule says `ask`, and no person sits at the agent."""
    run = Run(model, agent, "asked", [("bash", {"command": "touch made"})], ["--ask", "touch"]).prepare()
    result, = run.finish()
    made = (run.world.project / "made").exists()
    if agent.when_asked == "asks":
        has(result, "exit_code: 0")
        assert made, "the approved command did not run"
        return
    assert not made, "the command ran without an approval"
    has(result, "refused", "`--allow touch` would permit it", "`testudo approve --wait`")
    if agent.when_asked == "cannot ask":
        has(result, "this client cannot ask; `--allow touch`")
    else:
        has(result, f"the client answered `{agent.when_asked}` at once", "nobody may have been asked")


def over_http(model, agent):
    """The server runs by itself. Roots, if the client has any, choose within what the operator allowed."""
    run = Run(model, agent, "http", [("bash", {"command": "pwd"}), ("bash", {"command": "exit 3"}),
                                     ("bash", {"command": "seq 1 40000"})])
    command = [BINARY, "--transport", "http", "--listen", "127.0.0.1:0", "--token", "dummy", "--log-level", "info"]
    server = subprocess.Popen(command, cwd=run.world.project, env=run.world.environment(), stderr=subprocess.PIPE, text=True)
    try:
        address = next(found.group() for line in server.stderr if (found := re.search(r"http://\S+/mcp", line)))
        agent.prepare_http(run.world, run.url, address, "dummy")
        where, three, long = run.finish()
    finally:
        server.terminate()
        server.wait(PATIENCE)
    has(where, "exit_code: 0", str(run.world.project))
    has(three, "exit_code: 3")
    has(long, "stored: o1 (228894 characters)")


def processes():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file, open(f"/proc/{pid}/stat") as stat:
                yield int(pid), int(stat.read().rpartition(")")[2].split()[1]), file.read().decode(errors="replace")
        except OSError:
            continue


def until(what, condition, run):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}\n{run.end_of_log()}"
        time.sleep(0.05)


def is_killed(model, agent):
    """The agent is killed in mid-command. Nothing that it started stays."""
    word = f"{random.randrange(10**6, 10**7)}.{os.getpid()}"
    command = f"setsid sleep {word} & sleep {word} & sleep {word}"
    run = Run(model, agent, "killed", [("bash", {"command": command})]).prepare()
    process = run.start()
    napping = lambda: [pid for pid, _, line in processes() if f"sleep\0{word}" in line]
    until("the command runs", lambda: len(napping()) == 3, run)
    family = {process.pid}
    for pid, parent, _ in sorted(processes()):
        if parent in family:
            family.add(pid)
    servers = [pid for pid, parent, line in processes() if parent in family and line.startswith(f"{BINARY}\0")]
    assert servers, "the server is not a child of the agent"
    # The agent's own processes, wrappers included, and not the server's: it has to notice by itself.
    below = set(servers)
    for pid, parent, _ in sorted(processes()):
        if parent in below:
            below.add(pid)
    for pid in family - below:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    until("the command ends with its agent", lambda: not napping(), run)
    alive = lambda: [pid for pid, _, line in processes() if pid in servers and line.startswith(f"{BINARY}\0")]
    until("the server ends with its agent", lambda: not alive(), run)


def leaves(model, agent):
    """A Python program closes the connection while a call is in flight. An answer after that would crash its reader."""
    world = World("leaving")
    command = [f"{TOOLS}/venv/bin/python", HERE / "leaving.py", BINARY, world.project]
    left = subprocess.run(command, env=world.environment(), capture_output=True, text=True, timeout=PATIENCE)
    assert left.returncode == 0 and "Traceback" not in left.stderr, left.stderr[-3000:]


ALL = [takes_a_minute, works, reads_the_guide, is_asked, over_http, is_killed, leaves]
for scenario in ALL:
    scenario.applies = lambda agent: True
reads_the_guide.applies = lambda agent: agent.name in ("codex", "opencode")
leaves.applies = lambda agent: agent.name == "fastmcp"
