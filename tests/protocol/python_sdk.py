"""The official Python SDK drives the real binary: stdio and HTTP, both lifecycles.

    python_sdk.py BINARY

Covers tools, errors, state between calls, progress, cancel, roots, questions to the person, and that two principals do
not see each other's state.
"""

import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import ElicitResult, ListRootsResult, Root

BINARY = os.path.abspath(sys.argv[1])
MODES = ["legacy", "auto", "2026-07-28"]
ASK = ["--ask", "touch"]


def check(what, got, expected):
    if got != expected:
        sys.exit(f"{what}: expected {expected!r}, got {got!r}")


def text(result):
    return "".join(block.text for block in result.content if block.type == "text")


def running(word):
    """Whether a process has this word in its command line."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if word.encode() in file.read() and int(pid) != os.getpid():
                return True
    return False


async def until(what, condition):
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"waited in vain: {what}")
        await anyio.sleep(0.02)


@contextlib.contextmanager
def http_server(project, *arguments):
    command = [BINARY, "--transport", "http", "--listen", "127.0.0.1:0", *arguments]
    server = subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True)
    try:
        for line in server.stderr:
            if found := re.search(r"http://\S+/mcp", line):
                yield found.group()
                return
        sys.exit("the server did not start")
    finally:
        server.terminate()
        server.wait(20)


@contextlib.asynccontextmanager
async def over_http(url, token, mode, **callbacks):
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode, **callbacks) as client:
            yield client


@contextlib.asynccontextmanager
async def over_stdio(project, mode, **callbacks):
    arguments = ["--log-level", "error", *ASK]
    server = stdio_client(StdioServerParameters(command=BINARY, args=arguments, cwd=project))
    async with Client(server, mode=mode, **callbacks) as client:
        yield client


class Person:
    """Answers every question whether a command may run, and records the questions."""

    def __init__(self):
        self.decision, self.asked = "deny", []

    async def __call__(self, context, params):
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": self.decision})


async def approve(connect):
    person = Person()
    async with connect(elicitation_callback=person) as client:
        async def touch(name):
            return await client.call_tool("bash", {"command": f"touch {name} && echo done"})

        refused = await touch("no")
        check("a refusal", (refused.is_error, len(person.asked)), (True, 1))
        check("the question shows the command", "touch no" in person.asked[0], True)
        person.decision = "once"
        check("an approval", text(await touch("yes")), "exit_code: 0\n\nstdout:\ndone\n")
        check("asked each time", len(person.asked), 2)


async def roots(connect, mode, project, directory):
    """The first root is the project directory. The lifecycle of 2026-07-28 has no roots; there the flags set it."""
    asked = []

    async def offered(context):
        asked.append(context)
        return ListRootsResult(roots=[Root(uri=f"file://{directory}")])

    async with connect(list_roots_callback=offered) as client:
        seen = text(await client.call_tool("bash", {"command": "pwd", "session": f"roots-{mode}"}))
        expected = directory if mode == "legacy" else project
        check("roots", (seen, len(asked)), (f"exit_code: 0\n\nstdout:\n{expected}\n", int(mode == "legacy")))


async def exercise(client, project):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    check("bash is offered", tools["bash"].input_schema["required"], ["command"])

    async def bash(command, **more):
        return await client.call_tool("bash", {"command": command}, **more)

    check("a command", text(await bash("echo hello")), "exit_code: 0\n\nstdout:\nhello\n")
    failed = await bash("")
    check("an error is a result", (failed.is_error, text(failed)), (True, "command must not be empty"))
    await bash("export STATE=kept; cd /")
    check("state", text(await bash("echo $STATE $PWD")), "exit_code: 0\n\nstdout:\nkept /\n")
    await bash(f"cd {project}; unset STATE")

    seen = []

    async def progress(done, total, message):
        seen.append((done, message))

    await bash("for i in 1 2 3; do echo line $i; sleep 0.1; done", progress_callback=progress)
    # On a busy machine one notification may hold several lines.
    lines = [line for _, message in seen for line in message.split("\n")]
    check("progress", (lines, seen[-1][0]), (["line 1", "line 2", "line 3"], 3.0))

    word = f"{random.randrange(10**6, 10**7)}.{os.getpid()}"
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            async def cancel():
                await until("the command runs", lambda: running(word))
                scope.cancel()

            group.start_soon(cancel)
            await bash(f"sleep {word} & sleep {word}")
    await until("a cancelled command ends", lambda: not running(word))
    check("after a cancel", text(await bash("echo on")), "exit_code: 0\n\nstdout:\non\n")


async def main():
    # Not below /tmp, because the sandbox gives every session its own /tmp.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(sys.prefix)) as scratch:
        project, other, tokens = (os.path.join(os.path.realpath(scratch), name) for name in ("project", "other", "tokens"))
        os.mkdir(project)
        os.mkdir(other)
        for mode in MODES:
            def local(**callbacks):
                return over_stdio(project, mode, **callbacks)

            async with local() as client:
                await exercise(client, project)
            await approve(local)
            await roots(local, mode, project, other)
            print(f"python sdk, stdio, {mode}: ok")
        with open(tokens, "w") as file:
            file.write("alice a-token\nbob b-token\n")
        with http_server(project, "--token-file", tokens, "--allow-dir", project, "--allow-dir", other, *ASK) as url:
            for mode in MODES:
                def remote(**callbacks):
                    return over_http(url, "a-token", mode, **callbacks)

                await approve(remote)
                await roots(remote, mode, project, other)
                async with remote() as client:
                    await exercise(client, project)
                    await client.call_tool("bash", {"command": "export MINE=alice"})
                    async with over_http(url, "b-token", mode) as bob:
                        seen = text(await bob.call_tool("bash", {"command": "echo [$MINE]"}))
                        check("another principal", seen, "exit_code: 0\n\nstdout:\n[]\n")
                print(f"python sdk, http, {mode}: ok")


anyio.run(main)
