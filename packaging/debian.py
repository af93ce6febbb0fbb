"""The Debian package. The binary is static, so it depends on nothing."""
import hashlib

import archive, identity

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def package(content, machine, epoch):
    """Its name, and the bytes of the file."""
    architecture, version = ARCHITECTURES[machine], identity.version()
    files = installed(content)
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {path[2:]}\n" for path, (_, data) in sorted(files.items()))
    size = sum(len(data) for _, data in files.values()) // 1024
    control = f"""Package: testudo
Version: {version}
Architecture: {architecture}
Maintainer: {identity.MAINTAINER}
Installed-Size: {size}
Recommends: bash
Section: devel
Priority: optional
Homepage: {identity.REPOSITORY}
Description: shielded shell for AI agents (MCP server)
 An MCP server that gives an AI agent a shell and the files of a project.
 Calls do not hang, output is not lost, and the kernel keeps commands inside
 the project.
"""
    control = archive.tar({"./control": (0o644, control.encode()), "./md5sums": (0o644, sums.encode())}, epoch)
    data = archive.tar(files, epoch, directories=True)
    members = [("debian-binary", b"2.0\n"), ("control.tar.xz", archive.xz(control)), ("data.tar.xz", archive.xz(data))]
    return f"testudo_{version}_{architecture}.deb", ar(members, epoch)


def installed(content):
    completions, docs = content.completions, "./usr/share/doc/testudo"
    copyright = b"Licence: MIT or Apache-2.0, as you choose.\n\n" + content.text("LICENSE-MIT") + b"\n\n" + content.text("LICENSE-APACHE")
    return {
        "./usr/bin/testudo": (0o755, content.binary),
        "./usr/share/man/man1/testudo.1.gz": (0o644, archive.gz(content.manual)),
        "./usr/share/bash-completion/completions/testudo": (0o644, completions["bash"]),
        "./usr/share/zsh/vendor-completions/_testudo": (0o644, completions["zsh"]),
        "./usr/share/fish/vendor_completions.d/testudo.fish": (0o644, completions["fish"]),
        f"{docs}/copyright": (0o644, copyright),
        f"{docs}/changelog.gz": (0o644, archive.gz(content.text("CHANGELOG.md"))),
        f"{docs}/README.md": (0o644, content.text("README.md")),
    }


def ar(members, epoch):
    packed = b"!<arch>\n"
    for name, data in members:
        packed += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return packed
