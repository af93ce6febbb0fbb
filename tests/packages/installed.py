"""The packages, installed the way people install them."""
import os, pathlib, shutil, subprocess, tempfile

from report import check, run
from talk import call

ROOT = pathlib.Path(__file__).resolve().parents[2]


def project():
    return pathlib.Path(tempfile.mkdtemp(prefix="testudo-project-", dir="/var/tmp"))


def works(name, words, **options):
    """The server starts, says which version it is, and runs a command in the project."""
    where = project()
    said, version = call(words, "bash", {"command": "pwd; echo works > made"}, cwd=where, **options)
    right = said.startswith("exit_code: 0") and str(where) in said and (where / "made").read_text() == "works\n"
    check(name, right and version, f"{version}\n{said}")
    shutil.rmtree(where)


def bare_home(work, name):
    """Nothing that was installed or cached before helps."""
    home = work / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def npx(dist, work):
    [package] = dist.glob("testudo-mcp-*.tgz")
    environment = {**bare_home(work, "npx"), "npm_config_offline": "true"}
    works("npx starts the packed file, without a network", ["npx", "--yes", "--package", package.resolve(), "testudo"], env=environment)


def uvx(dist, work):
    [package] = dist.glob("*.whl")
    environment = {**bare_home(work, "uvx"), "UV_OFFLINE": "1"}
    uv = [work / "python/bin/uvx", "--no-config", "--from", package.resolve()]
    works("uvx starts the wheel by the name of the package", [*uv, "testudo-mcp"], env=environment)
    works("uvx starts the wheel by the name of the program", [*uv, "testudo"], env=environment)


def bundle(work):
    where = project()
    settings = {"TESTUDO_PROJECT_DIR": str(where), "TESTUDO_SANDBOX": "", "TESTUDO_NETWORK": ""}
    environment = {**bare_home(work, "bundle-home"), **settings}
    own = pathlib.Path(environment["HOME"]) / ".config/testudo/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[sandbox]\nmode = "read-only"\n')
    program = work / "bundle/server/testudo"
    program.chmod(0o755)
    said, _ = call([program], "bash", {"command": "pwd; touch made"}, cwd="/", env=environment)
    check("the bundle starts in the project that the person chose", str(where) in said, said)
    check("what is not filled in leaves the person's file in force", not (where / "made").exists(), said)
    shutil.rmtree(where)


def debian(dist, work):
    """In a fresh Debian that knows nothing of this machine."""
    root = work / "debian"
    if not (root / "usr/bin/dpkg").exists():
        shutil.rmtree(root, ignore_errors=True)
        made = run("debootstrap", "--variant=minbase", "stable", root)
        if made.returncode != 0:
            check("debootstrap makes a Debian", False, made.stdout[-2000:] + made.stderr)
            return None
    [package] = dist.glob("*.deb")
    shutil.copy(package, root / "tmp/testudo.deb")
    inside = lambda *words: run("chroot", root, *words, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C"})
    done = inside("dpkg", "--install", "/tmp/testudo.deb")
    check("dpkg installs the package", done.returncode == 0 and not done.stderr, done.stdout + done.stderr)
    check("it depends on nothing", "Depends" not in inside("dpkg", "--status", "testudo").stdout)
    check("its files are as it says", inside("dpkg", "--verify", "testudo").stdout == "")
    said = inside("testudo", "--version").stdout
    check("the program runs in it", said.startswith("testudo "), said)
    removed = inside("dpkg", "--purge", "testudo")
    gone = not (root / "usr/bin/testudo").exists()
    check("and goes without a trace", removed.returncode == 0 and gone, removed.stderr)
    return root


def cargo(work):
    """As README says, in a fresh clone, for a person who has Rust and an empty home."""
    name = "cargo install --path . in a fresh clone"
    clone = work / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    toolchain = {"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup"))}
    ours = {"CARGO_HOME", "CARGO_TARGET_DIR", "RUSTFLAGS"}
    inherited = {key: value for key, value in os.environ.items() if key not in ours}
    environment = {**inherited, **bare_home(work, "cargo-home"), **toolchain}
    done = run("cargo", "install", "--locked", "--path", ".", cwd=clone, env=environment)
    program = pathlib.Path(environment["HOME"]) / ".cargo/bin/testudo"
    check(name, done.returncode == 0 and program.exists(), done.stderr[-3000:])
    if program.exists():
        doctor = run(program, "doctor", cwd=project(), env=environment)
        check("doctor finds nothing that stops commands", doctor.returncode == 0, doctor.stdout + doctor.stderr)
        works("the first command of that binary", [program], env=environment)
    shutil.rmtree(clone, ignore_errors=True)
