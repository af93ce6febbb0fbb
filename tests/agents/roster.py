"""The agents: how each is told of the server and of the scripted model, and what is known about it.

An agent works in a world of its own: a home, and a project below it. Keys are dummies.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOOLS = ROOT / "target/agents"
BINARY = ROOT / "target/debug/testudo"


class World:
    """Not below /tmp, because the sandbox gives every session its own /tmp."""

    def __init__(self, name):
        self.directory = tempfile.TemporaryDirectory(prefix=f"world-{name}-", dir=TOOLS, ignore_cleanup_errors=True)
        self.home = pathlib.Path(self.directory.name).resolve() / "home"
        self.project = self.home / "code/project"
        self.project.mkdir(parents=True)

    def write(self, path, content):
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def environment(self, **more):
        path = f"{TOOLS}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "NO_COLOR": "1", **more}

    def install(self, client, options):
        command = [BINARY, "install", client, "--", *options]
        subprocess.run(command, cwd=self.project, env=self.environment(), check=True, stdout=subprocess.DEVNULL)


@dataclasses.dataclass
class Agent:
    name: str
    # Whether the model sees which results are errors.
    keeps_error_flag: bool
    # The least that reaches the model of a result of 30,000 characters, and whether its end does.
    characters: int
    keeps_end: bool
    # What an `--ask` rule comes to when no person is there.
    when_asked: str
    # Whether a command of 70 seconds is answered by one call. Else it goes on as a task.
    waits: bool
    shows_instructions: bool
    # Whether the model sees pictures, and not their bytes as text or nothing.
    shows_pictures: bool = True

    def prepare(self, world, url, options):
        """Registers the server with `testudo install`, as a person would."""
        world.install(self.name, options)

    def prepare_http(self, world, url, server, token):
        raise NotImplementedError

    def command(self, world, url):
        """The command line and the environment that run one conversation."""
        raise NotImplementedError


PROMPT = "Follow the script."


class ClaudeCode(Agent):
    def prepare_http(self, world, url, server, token):
        # As docs/clients.md shows it.
        add = ["claude", "mcp", "add", "-s", "user", "--transport", "http", "testudo", server,
               "--header", f"Authorization: Bearer {token}"]
        subprocess.run(add, cwd=world.project, env=self.command(world, url)[1], check=True, stdout=subprocess.DEVNULL)

    def command(self, world, url):
        quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        environment = world.environment(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="dummy", **quiet)
        return ["claude", "--debug", "-p", PROMPT, "--allowedTools", "mcp__testudo"], environment


class Codex(Agent):
    def prepare(self, world, url, options):
        provider = {"name": "scripted", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "DUMMY_KEY"}
        lines = [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
        world.write(".codex/config.toml", "model = \"scripted\"\nmodel_provider = \"scripted\"\n\n"
                    "[model_providers.scripted]\n" + "\n".join(lines) + "\n")
        super().prepare(world, url, options)

    def prepare_http(self, world, url, server, token):
        self.prepare(world, url, [])
        file = world.home / ".codex/config.toml"
        entry = f'url = "{server}"\nhttp_headers = {{ Authorization = "Bearer {token}" }}\n'
        lines = [line for line in file.read_text().splitlines() if not line.startswith(("command =", "args ="))]
        file.write_text("\n".join(lines).replace("[mcp_servers.testudo]\n", f"[mcp_servers.testudo]\n{entry}") + "\n")

    def command(self, world, url):
        return ["codex", "exec", "--skip-git-repo-check", PROMPT], world.environment(DUMMY_KEY="dummy")


class Gemini(Agent):
    def prepare(self, world, url, options):
        self.settings(world)
        super().prepare(world, url, options)

    def prepare_http(self, world, url, server, token):
        headers = {"Authorization": f"Bearer {token}"}
        self.settings(world, mcpServers={"testudo": {"httpUrl": server, "headers": headers}})

    @staticmethod
    def settings(world, **more):
        security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
        quiet = {"general": {"disableAutoUpdate": True}, "privacy": {"usageStatisticsEnabled": False}}
        world.write(".gemini/settings.json", {"security": security, **quiet, **more})

    def command(self, world, url):
        keys = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"}
        return ["gemini", "--yolo", "-m", "gemini-2.5-pro", "-p", PROMPT], world.environment(**keys)


class Opencode(Agent):
    def prepare(self, world, url, options):
        self.settings(world, url)
        super().prepare(world, url, options)

    def prepare_http(self, world, url, server, token):
        entry = {"type": "remote", "url": server, "headers": {"Authorization": f"Bearer {token}"}, "oauth": False}
        self.settings(world, url, mcp={"testudo": entry})

    @staticmethod
    def settings(world, url, **more):
        model = {"name": "scripted", "limit": {"context": 200000, "output": 8000},
                 "attachment": True, "tool_call": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": model},
                    "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}}
        world.write(".config/opencode/opencode.jsonc", {"provider": {"scripted": provider}, "autoupdate": False,
                                                        "share": "disabled", "small_model": "scripted/scripted", **more})

    def command(self, world, url):
        quiet = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                 "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}
        return ["opencode", "run", "-m", "scripted/scripted", PROMPT], world.environment(**quiet)


class Qwen(Agent):
    def prepare_http(self, world, url, server, token):
        entry = {"httpUrl": server, "headers": {"Authorization": f"Bearer {token}"}}
        world.write(".qwen/settings.json", {"mcpServers": {"testudo": entry}})

    def command(self, world, url):
        keys = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "scripted"}
        return ["qwen", "--auth-type", "openai", "--yolo", "-p", PROMPT], world.environment(**keys)


class Cline(Agent):
    def prepare(self, world, url, options):
        self.log_in(world, url)
        super().prepare(world, url, options)

    def prepare_http(self, world, url, server, token):
        self.log_in(world, url)
        add = ["cline", "mcp", "add", "testudo", "--yes", "--transport", "http", "--header", f"Authorization: Bearer {token}", server]
        subprocess.run(add, cwd=world.project, env=world.environment(), check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def log_in(world, url):
        auth = ["cline", "auth", "-p", "openai-compatible", "-k", "dummy", "-m", "scripted", "-b", f"{url}/v1"]
        subprocess.run(auth, cwd=world.project, env=world.environment(), check=True, stdout=subprocess.DEVNULL)

    def command(self, world, url):
        # Else it leaves a daemon behind.
        return ["cline", PROMPT], world.environment(CLINE_SESSION_BACKEND_MODE="local")


class Continue(Agent):
    """`testudo install` does not know it. The entry is that of docs/clients.md."""

    def prepare(self, world, url, options):
        self.settings(world, url, {"name": "testudo", "command": str(BINARY), "args": options})

    def prepare_http(self, world, url, server, token):
        headers = {"headers": {"Authorization": f"Bearer {token}"}}
        self.settings(world, url, {"name": "testudo", "type": "streamable-http", "url": server, "requestOptions": headers})

    @staticmethod
    def settings(world, url, entry):
        model = {"name": "scripted", "provider": "openai", "model": "scripted", "apiBase": f"{url}/v1", "apiKey": "dummy",
                 "roles": ["chat"], "capabilities": ["tool_use"]}
        # JSON is YAML too.
        world.write(".continue/config.yaml", {"name": "tests", "version": "1.0.0", "schema": "v1", "models": [model], "mcpServers": [entry]})

    def command(self, world, url):
        quiet = {"CONTINUE_TELEMETRY_ENABLED": "0"}
        return ["cn", "--config", str(world.home / ".continue/config.yaml"), "--auto", "-p", PROMPT], world.environment(**quiet)


class Python(Agent):
    """An agent of a few lines on a Python library: tests/agents/<name>_agent.py. It is told how to reach the server by
    its arguments."""

    def prepare(self, world, url, options):
        world.write("server.json", {"command": str(BINARY), "args": options})

    def prepare_http(self, world, url, server, token):
        world.write("server.json", {"url": server, "headers": {"Authorization": f"Bearer {token}"}})

    def command(self, world, url):
        script = HERE / f"{self.name.replace('-', '_')}_agent.py"
        return [f"{TOOLS}/venv/bin/python", script, url, world.home / "server.json"], world.environment()


AGENTS = [
    ClaudeCode("claude-code", keeps_error_flag=True, characters=30_000, keeps_end=True, when_asked="cancel",
               waits=True, shows_instructions=True),
    Codex("codex", keeps_error_flag=False, characters=9_000, keeps_end=True, when_asked="decline",
          waits=True, shows_instructions=True),
    Gemini("gemini", keeps_error_flag=True, characters=30_000, keeps_end=True, when_asked="cannot ask",
           waits=True, shows_instructions=True),
    Opencode("opencode", keeps_error_flag=False, characters=9_000, keeps_end=False, when_asked="cannot ask",
             waits=True, shows_instructions=True),
    Qwen("qwen", keeps_error_flag=False, characters=5_000, keeps_end=True, when_asked="cannot ask",
         waits=True, shows_instructions=False, shows_pictures=False),
    Cline("cline", keeps_error_flag=False, characters=6_500, keeps_end=True, when_asked="cannot ask",
          waits=False, shows_instructions=False, shows_pictures=False),
    Continue("continue", keeps_error_flag=False, characters=30_000, keeps_end=True, when_asked="cannot ask",
             waits=False, shows_instructions=False, shows_pictures=False),
    Python("openai-agents", keeps_error_flag=False, characters=30_000, keeps_end=True, when_asked="cannot ask",
           waits=False, shows_instructions=False),
    Python("fastmcp", keeps_error_flag=False, characters=30_000, keeps_end=True, when_asked="asks",
           waits=True, shows_instructions=False),
]
