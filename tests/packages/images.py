"""The images of deploy/, built and run on a Docker engine of our own."""
import os, pathlib, shutil, subprocess, sys, tempfile

from report import check
from talk import call

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "containers"))
from engine import DOCKER, Engine  # noqa: E402

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"


def try_out(dist, work, debian):
    engine = Engine(work / "engine")
    try:
        # No registry is needed: the Debian that the package was tried in is the base.
        packed = subprocess.run(["tar", "-C", str(debian), "--exclude=./proc/*", "--exclude=./sys/*", "-c", "."], capture_output=True, check=True)
        engine.docker("import", "-", "debian:test", input=packed.stdout, text=False)
        build(engine, dist, "Dockerfile.scratch", "testudo:scratch")
        build(engine, dist, "Dockerfile", "testudo:debian", "--build-arg", "BASE=debian:test", "--build-arg", "PACKAGES=bash")
        scratch(engine)
        for flags, level in (([], "landlock"), (["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"], "full")):
            with_shell(engine, flags, level)
        carried(engine, dist)
    finally:
        engine.end()


def build(engine, context, file, tag, *flags):
    environment = {**os.environ, "DOCKER_BUILDKIT": "0"}
    built = engine.docker("build", "--network", "host", "--file", str(DEPLOY / file), "--tag", tag, *flags, str(context),
                          check=False, env=environment)
    check(f"docker builds {file}", built.returncode == 0, built.stdout + built.stderr)


def start(engine, image, flags):
    where = pathlib.Path(tempfile.mkdtemp(prefix="testudo-project-", dir="/var/tmp"))
    (where / "code.txt").write_text("needle\n")
    for path in (where, where / "code.txt"):
        os.chown(path, 1000, 1000)
    words = [DOCKER, "--host", engine.host, "run", "--rm", "--interactive", "--network", "none", "--volume", f"{where}:/work", *flags, image]
    return where, words


def scratch(engine):
    where, words = start(engine, "testudo:scratch", [])
    said, _ = call(words, "view", {"path": "/work/code.txt"})
    check("the image from scratch shows files", "needle" in said, said)
    said, _ = call(words, "bash", {"command": "echo ran"})
    check("it says that it has no shell", "ran" not in said and "/bin/sh" in said, said)
    shutil.rmtree(where)


def with_shell(engine, flags, level):
    where, words = start(engine, "testudo:debian", flags)
    said, _ = call(words, "bash", {"command": "id -u; pwd; echo x > made; cat code.txt"})
    right = "1000\n/work\nneedle\n" in said and (where / "made").stat().st_uid == 1000
    check(f"the Debian image runs commands as an ordinary user, level {level}", right, said)
    told = engine.docker("run", "--rm", "--network", "none", *flags, "testudo:debian", "doctor", check=False).stdout
    check(f"and doctor says level {level}", f"level {level}" in told, told)
    shutil.rmtree(where)


def carried(engine, dist):
    """As the first line of Dockerfile.scratch says."""
    text = "FROM debian:test\nCOPY --from=testudo:scratch /testudo /usr/local/bin/\n"
    built = engine.docker("build", "--tag", "own", "-", input=text, check=False, env={**os.environ, "DOCKER_BUILDKIT": "0"})
    said = engine.docker("run", "--rm", "--network", "none", "own", "testudo", "--version", check=False)
    check("another image takes the binary from it", said.stdout.startswith("testudo "), built.stderr + said.stderr)
