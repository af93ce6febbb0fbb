"""The official Python SDK drives the real binary: stdio and HTTP, both lifecycles.

    python_sdk.py BINARY

Tools, errors, state between calls, progress, cancel, and what two principals see of each other.
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

BINARY = os.path.abspath(sys.argv[1])
MODES = ["legacy", "auto", "2026-07-28"]


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
async def over_http(url, token, mode):
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client


@contextlib.asynccontextmanager
async def over_stdio(project, mode):
    server = stdio_client(StdioServerParameters(command=BINARY, args=["--log-level", "error"], cwd=project))
    async with Client(server, mode=mode) as client:
        yield client


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
    check("progress", seen, [(1.0, "line 1"), (2.0, "line 2"), (3.0, "line 3")])

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
    with tempfile.TemporaryDirectory() as project:
        project = os.path.realpath(project)
        for mode in MODES:
            async with over_stdio(project, mode) as client:
                await exercise(client, project)
            print(f"python sdk, stdio, {mode}: ok")
        tokens = os.path.join(project, "tokens")
        with open(tokens, "w") as file:
            file.write("alice a-token\nbob b-token\n")
        with http_server(project, "--token-file", tokens) as url:
            for mode in MODES:
                async with over_http(url, "a-token", mode) as client:
                    await exercise(client, project)
                    await client.call_tool("bash", {"command": "export MINE=alice"})
                    async with over_http(url, "b-token", mode) as other:
                        seen = text(await other.call_tool("bash", {"command": "echo [$MINE]"}))
                        check("another principal", seen, "exit_code: 0\n\nstdout:\n[]\n")
                print(f"python sdk, http, {mode}: ok")


anyio.run(main)
