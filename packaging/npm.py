"""The npm package carries the binary itself, so `npx` starts it without another process in between."""
import json

import archive, identity

MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


def package(content, machine, epoch):
    version = identity.version()
    described = {
        "name": identity.PACKAGE, "version": version, "description": identity.SUMMARY, "license": identity.LICENSE,
        "mcpName": identity.registry_name(), "repository": {"type": "git", "url": f"git+{identity.REPOSITORY}.git"},
        "keywords": ["mcp", "shell", "sandbox"], "bin": {"testudo": "bin/testudo"},
        "os": ["linux"], "cpu": [MACHINES[machine]], "files": ["bin"],
    }
    files = {f"package/{name}": data for name, data in content.texts().items()}
    files["package/package.json"] = (0o644, json.dumps(described, indent=2).encode() + b"\n")
    files["package/bin/testudo"] = (0o755, content.binary)
    return f"{identity.PACKAGE}-{version}.tgz", archive.gz(archive.tar(files, epoch))
