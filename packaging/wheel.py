"""The wheel carries the binary as a script of the environment. `uvx` and `pipx` start it by the name of the package."""
import base64, hashlib

import archive, identity

#: A static binary runs with every C library.
PLATFORMS = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"
STARTER = b'#!/bin/sh\nexec "$(dirname -- "$0")/testudo" "$@"\n'


def package(content, machine, epoch):
    name, version, platforms = identity.PACKAGE.replace("-", "_"), identity.version(), PLATFORMS.format(machine)
    info, scripts = f"{name}-{version}.dist-info", f"{name}-{version}.data/scripts"
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms.split("."))
    description = content.text("README.md").decode()
    metadata = f"""Metadata-Version: 2.4
Name: {identity.PACKAGE}
Version: {version}
Summary: {identity.SUMMARY}
License-Expression: {identity.LICENSE}
License-File: LICENSE-MIT
License-File: LICENSE-APACHE
Project-URL: Repository, {identity.REPOSITORY}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

<!-- mcp-name: {identity.registry_name()} -->

{description}"""
    files = {
        f"{scripts}/testudo": (0o755, content.binary),
        f"{scripts}/{identity.PACKAGE}": (0o755, STARTER),
        f"{info}/licenses/LICENSE-MIT": (0o644, content.text("LICENSE-MIT")),
        f"{info}/licenses/LICENSE-APACHE": (0o644, content.text("LICENSE-APACHE")),
        f"{info}/METADATA": (0o644, metadata.encode()),
        f"{info}/WHEEL": (0o644, f"Wheel-Version: 1.0\nGenerator: testudo\nRoot-Is-Purelib: false\n{tags}".encode()),
    }
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, (_, data) in files.items())
    files[f"{info}/RECORD"] = (0o644, f"{record}{info}/RECORD,,\n".encode())
    return f"{name}-{version}-py3-none-{platforms}.whl", archive.zipped(files, epoch)
