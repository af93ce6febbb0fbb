"""The bundle for desktop clients: the binary, and a manifest with the settings that the client asks the person for."""
import json

import archive, identity

#: The setting, the variable that the server reads it from, and what the person sees. A variable wins over the person's
#: configuration file, so whatever is not filled in stays empty, which the server takes for not set.
SETTINGS = {
    "project_dir": ("TESTUDO_PROJECT_DIR", {
        "type": "directory", "title": "Project directory", "required": True,
        "description": "The directory that the agent may read and write. Nothing outside it can be changed."}),
    "sandbox": ("TESTUDO_SANDBOX", {
        "type": "string", "title": "Sandbox", "required": False, "default": "",
        "description": "workspace-write: commands can write the project. read-only: they can write nothing. off: no sandbox. "
                       "Empty: as in your configuration file, else workspace-write."}),
    "network": ("TESTUDO_NETWORK", {
        "type": "string", "title": "Network", "required": False, "default": "",
        "description": "on: commands can use the network. hosts: they can reach the hosts that your configuration file names. "
                       "off: they cannot use it. Empty: as in your configuration file, else on."}),
}


def package(content, tools, epoch):
    version = identity.version()
    manifest = {
        "manifest_version": "0.3", "name": "testudo", "display_name": "testudo", "version": version,
        "description": identity.SUMMARY, "license": identity.LICENSE,
        "author": {"name": identity.MAINTAINER.split(" <")[0]},
        "repository": {"type": "git", "url": identity.REPOSITORY}, "keywords": ["shell", "sandbox", "files"],
        "server": {
            "type": "binary", "entry_point": "server/testudo",
            "mcp_config": {
                "command": "${__dirname}/server/testudo", "args": [],
                "env": {variable: f"${{user_config.{name}}}" for name, (variable, _) in SETTINGS.items()},
            },
        },
        "tools": [{"name": tool["name"], "description": tool["description"]} for tool in tools],
        "user_config": {name: shown for name, (_, shown) in SETTINGS.items()},
        "compatibility": {"platforms": ["linux"]},
    }
    files = {"manifest.json": (0o644, json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n"),
             "server/testudo": (0o755, content.binary), **content.texts()}
    return f"testudo-{version}.mcpb", archive.zipped(files, epoch)
