"""`testudo install` on the files that the clients' own `mcp add` has just written, and the clients' own lists afterwards."""

import dataclasses
import re
import subprocess

from roster import BINARY, Gemini, World

OTHER = "/usr/bin/other"


@dataclasses.dataclass
class Registrar:
    """A client with a command line of its own for MCP servers."""

    name: str
    add: list
    list: list
    file: str
    # The line about testudo in the client's list. Most clients connect to each server for it.
    found: str


CLIENTS = [
    Registrar("claude-code", ["claude", "mcp", "add", "-s", "user", "other", "--", OTHER], ["claude", "mcp", "list"],
              ".claude.json", r"testudo: .*Connected"),
    Registrar("codex", ["codex", "mcp", "add", "other", "--", OTHER], ["codex", "mcp", "list"],
              ".codex/config.toml", r"testudo .*enabled"),
    Registrar("gemini", ["gemini", "mcp", "add", "-s", "user", "other", OTHER], ["gemini", "mcp", "list"],
              ".gemini/settings.json", r"testudo: .*Connected"),
    Registrar("opencode", ["opencode", "mcp", "add", "other", "--", OTHER], ["opencode", "mcp", "list"],
              ".config/opencode/opencode.jsonc", r"testudo .*connected"),
    Registrar("qwen", ["qwen", "mcp", "add", "-s", "user", "other", OTHER], ["qwen", "mcp", "list"],
              ".qwen/settings.json", r"testudo: .*Connected"),
    # It has no list. That it starts the server is in the other scenarios.
    Registrar("cline", ["cline", "mcp", "add", "other", "--yes", "--", OTHER], None,
              ".cline/data/settings/cline_mcp_settings.json", ""),
]


def run(world, words):
    done = subprocess.run(words, cwd=world.project, env=world.environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def only_adds(before, after):
    rest = iter(after)
    return all(byte in rest for byte in before)


def keeps_what_the_client_wrote(_, client):
    world = World(client.name)
    if client.name == "gemini":
        Gemini.settings(world)
    run(world, client.add)
    file = world.home / client.file
    before = file.read_bytes()
    assert OTHER.encode() in before, before
    install = [BINARY, "install", client.name]
    run(world, install)
    after = file.read_bytes()
    assert only_adds(before, after) and str(BINARY).encode() in after, after.decode()
    assert "already registered" in run(world, install) and file.read_bytes() == after
    run(world, [*install, "--uninstall"])
    assert file.read_bytes() == before, file.read_text()
    run(world, install)
    if client.list:
        listed = run(world, client.list)
        assert re.search(client.found, listed) and OTHER in listed, listed
    assert re.search(rf"{client.name} +yes +yes: {re.escape(str(BINARY))}", run(world, [BINARY, "install", "--list"]))
