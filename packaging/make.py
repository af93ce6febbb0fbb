"""Makes every package from one binary: packaging/make.py BINARY TARGET DIRECTORY. Needs nothing but Python."""
import hashlib, json, pathlib, subprocess, sys

import archive, debian, identity, mcpb, npm, registry, sbom, wheel
from content import COMPLETIONS, Content


def main(binary, target, directory):
    content, machine, epoch = Content(binary), target.split("-")[0], identity.epoch()
    bundle_name, bundle = mcpb.package(content, offered(binary), epoch)
    files = dict([
        ("testudo", content.binary), tarball(content, machine, epoch), debian.package(content, machine, epoch), npm.package(content, machine, epoch),
        wheel.package(content, machine, epoch), (bundle_name, bundle),
        ("server.json", registry.description(bundle_name, bundle)), (f"testudo-{identity.version()}.cdx.json", sbom.of(target)),
    ])
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    for name, data in files.items():
        (directory / name).write_bytes(data)
        (directory / name).chmod(0o755 if name == "testudo" else 0o644)
        print(f"{len(data):>9}  {directory / name}", file=sys.stderr)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    (directory / "SHA256SUMS").write_text(sums)
    if identity.FOR_TRYING_OUT:
        print("for trying out: before you publish packages, set TESTUDO_REPOSITORY and TESTUDO_MAINTAINER", file=sys.stderr)


def tarball(content, machine, epoch):
    """For everybody else: unpack it and put `testudo` where programs are."""
    top = f"testudo-{identity.version()}-{machine}-linux"
    files = {"testudo": (0o755, content.binary), "testudo.1": (0o644, content.manual), **content.texts()}
    files |= {f"completions/{name}": (0o644, content.completions[shell]) for shell, name in COMPLETIONS.items()}
    packed = archive.tar({f"{top}/{name}": data for name, data in files.items()}, epoch)
    return f"{top}.tar.gz", archive.gz(packed)


def offered(binary):
    """The tools, as a client sees them."""
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "packages", "version": "1"}}
    messages = [{"id": 1, "method": "initialize", "params": about}, {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/list"}]
    server = subprocess.Popen([binary], cwd=identity.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    for message in messages:
        print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)
    tools = next(answer["result"]["tools"] for answer in map(json.loads, server.stdout) if answer.get("id") == 2)
    server.communicate()
    return tools


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
