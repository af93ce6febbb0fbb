"""Starts the server in containers as `docs/containers.md` tells people to, and checks what that page promises.

`run.py BINARY DATA`: the binary to test, and a directory for the engine's data.
"""
import json, os, pathlib, shutil, sys, tempfile, time

from client import HELLO, Client, http
from engine import IMAGE, Engine

binary, data = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
FULL = ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"]
HARDENED = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit",
            "100", "--memory", "256m"]
failures = []


def check(name, right, evidence):
    print(f"{'ok   ' if right else 'WRONG'} {name}", flush=True)
    if not right:
        failures.append(name)
        print(evidence, flush=True)


def project(owner):
    path = pathlib.Path(tempfile.mkdtemp(prefix="testudo-project-", dir="/var/tmp"))
    (path / "code.txt").write_text("needle\n")
    for each in (path, path / "code.txt"):
        os.chown(each, owner, owner)
    path.chmod(0o755)
    return path


def mounted(path):
    return ["--network", "none", "--volume", f"{path}:/work", "--workdir", "/work"]


def works(engine, name, flags, level, owner=0, user=None):
    """Commands and file tools work in the project, and the level is the one that the page promises."""
    path = project(owner)
    client = Client(engine, "testudo-row", [*mounted(path), *(["--user", user] if user else []), *flags])
    said = [client.bash("mkdir -p sub && echo x > sub/f && cat sub/f && cd sub && export A=1"),
            client.bash("echo $A $PWD"), client.call("grep", pattern="needle", path="/work"),
            client.call("create_file", path="/work/new.txt", content="y"), client.bash("cat /proc/1/environ; id -u")]
    code, log = client.end()
    right = (client.level == f"level {level}" and "x\n" in said[0] and "1 /work/sub\n" in said[1] and "code.txt" in said[2]
             and (path / "new.txt").read_text() == "y" and (path / "sub/f").read_text() == "x\n" and code == 0)
    if user:
        right = right and (path / "sub/f").stat().st_uid == int(user)
    check(name, right, f"{client.level}\n" + "\n".join(said) + log)
    shutil.rmtree(path)


def refuses(engine, name, flags, *words):
    """Commands are refused, the answer has these words, and so has `testudo doctor`."""
    path = project(0)
    client = Client(engine, "testudo-row", [*mounted(path), *flags])
    said = client.bash("echo ran")
    client.end()
    doctor = engine.docker("run", "--rm", *mounted(path), *flags, IMAGE, "testudo", "doctor", check=False).stdout
    right = said.startswith("ERR ") and all(word in said and word in doctor for word in words)
    check(name, right, f"{said}\n--\n{doctor}")
    shutil.rmtree(path)


def sockets(engine):
    """Where connections can be supervised, Unix sockets of the session work."""
    path = project(0)
    path.chmod(0o777)
    none, own = "held    Unix sockets cannot be used at all", "held    Unix sockets of other programs cannot be reached"
    for flags, promise in (([], none), (["--cap-add", "SYS_PTRACE"], own), (FULL, own)):
        for user in ("0", "1000"):
            words = [*mounted(path), "--user", user, *flags, IMAGE, "testudo", "doctor"]
            doctor = engine.docker("run", "--rm", *words, check=False).stdout
            check(f"Unix sockets, --user {user} {' '.join(flags)}", promise in doctor, doctor)
    shutil.rmtree(path)


def limits(engine):
    path = project(0)
    client = Client(engine, "testudo-row", [*mounted(path), "--pids-limit", "60"])
    said = client.bash("for i in $(seq 200); do sleep 60 & done 2>/dev/null; echo over", timeout=60000)
    after = [client.bash("echo alive") for _ in range(3)]
    client.end()
    check("--pids-limit 60: a command uses it up, and the server answers", all(text for text in after), said + "".join(after))
    client = Client(engine, "testudo-row", [*mounted(path), "--pids-limit", "60"])
    again = client.bash("echo alive")
    client.end()
    check("--pids-limit 60: ordinary commands run", "alive\n" in again, again)
    client = Client(engine, "testudo-row", [*mounted(path), "--memory", "128m", "--memory-swap", "128m"])
    said = client.bash("x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo ${#x}", timeout=60000)
    after = client.bash("echo alive")
    client.end()
    check("--memory 128m: a hog dies, the server lives", "400000000" not in said and "alive\n" in after, said + after)
    shutil.rmtree(path)


def stops(engine):
    path = project(0)
    for name, flags in (("docker stop", []), ("docker stop with --init", ["--init"])):
        client = Client(engine, "testudo-row", [*mounted(path), *flags])
        client.bash("sleep 1000", run_in_background=True)
        engine.docker("stop", "--time", "60", "testudo-row")
        code = client.process.wait(30)
        check(f"{name} ends the server and its task", code == 0, f"{code} {client.process.stderr.read()}")
    shutil.rmtree(path)


def published(engine):
    path = project(0)
    engine.docker("network", "create", "testudo-test")
    try:
        engine.docker("run", "--rm", "--detach", "--name", "testudo-http", "--network", "testudo-test", "--publish",
                      "127.0.0.1::8731", "--volume", f"{path}:/work", "--workdir", "/work", "--env", "TESTUDO_TOKEN=secret-token",
                      IMAGE, "testudo", "--transport", "http", "--listen", "0.0.0.0:8731")
        port = engine.docker("port", "testudo-http", "8731").stdout.strip().rsplit(":", 1)[1]
        deadline = time.monotonic() + 60
        while True:
            try:
                hello, session = http(port, "secret-token", "initialize", HELLO)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        said, _ = http(port, "secret-token", "tools/call", {"name": "bash", "arguments": {"command": "echo $((6*7))"}}, session)
        text = said["result"]["content"][0]["text"]
        check("HTTP on a published port", "42\n" in text and "level landlock" in json.dumps(hello), f"{hello} {said}")
        log = engine.docker("logs", "testudo-http")
        check("the token is not in the log", "secret-token" not in log.stdout + log.stderr, log.stderr)
        engine.docker("stop", "testudo-http")
    finally:
        engine.docker("rm", "--force", "testudo-http", check=False)
        engine.docker("network", "rm", "testudo-test")
    shutil.rmtree(path)


def without_landlock(engine, directory):
    """A profile that refuses Landlock and namespaces, as engines before Docker 20.10.10 do."""
    profile = directory / "seccomp.json"
    refused = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "unshare", "clone3", "setns"]
    namespaces = {"names": ["clone"], "action": "SCMP_ACT_ERRNO",
                  "args": [{"index": 0, "value": 0x10000000, "valueTwo": 0x10000000, "op": "SCMP_CMP_MASKED_EQ"}]}
    calls = [{"names": refused, "action": "SCMP_ACT_ERRNO", "errnoRet": 38}, namespaces]
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": calls}))
    flags = ["--security-opt", f"seccomp={profile}"]
    refuses(engine, "no Landlock, no namespaces", flags, "no Landlock", "--sandbox off")
    path = project(0)
    client = Client(engine, "testudo-row", [*mounted(path), *flags, "--env", "TESTUDO_SANDBOX=off"])
    said = client.bash("echo ran")
    client.end()
    check("no Landlock, TESTUDO_SANDBOX=off", "ran\n" in said, said)
    shutil.rmtree(path)


def documented():
    """The page names every flag that is tested here."""
    page = (pathlib.Path(__file__).parents[2] / "docs/containers.md").read_text().replace("\\\n    ", "")
    flags = [" ".join(FULL), "--cap-drop ALL", "--read-only --tmpfs /tmp", "--pids-limit 100", "--memory 256m", "--user",
             "no-new-privileges", "--cap-add SYS_PTRACE", "--listen 0.0.0.0:8731", "TESTUDO_SANDBOX=off", "--init"]
    missing = [flag for flag in flags if flag not in page]
    check("docs/containers.md names every flag", not missing, missing)


engine = Engine(data)
try:
    engine.make_image(binary)
    works(engine, "root, project of root", [], "landlock")
    works(engine, "root, project of another user", [], "landlock", owner=1000)
    works(engine, "root, --init", ["--init"], "landlock")
    works(engine, "root, --cap-drop ALL", ["--cap-drop", "ALL"], "landlock")
    works(engine, "--user 1000", [], "landlock", owner=1000, user="1000")
    works(engine, "--user 54321, which nobody knows", [], "landlock", owner=54321, user="54321")
    works(engine, "hardened, --user 1000", HARDENED, "landlock", owner=1000, user="1000")
    works(engine, "--read-only --tmpfs /tmp", ["--read-only", "--tmpfs", "/tmp"], "landlock")
    works(engine, "seccomp=unconfined alone", FULL[:2], "landlock")
    works(engine, "--cap-add SYS_ADMIN alone", ["--cap-add", "SYS_ADMIN"], "landlock")
    works(engine, "both options, root", FULL, "full")
    works(engine, "both options, --user 1000", FULL, "full", owner=1000, user="1000")
    refuses(engine, "--read-only alone", ["--read-only"], "failed to make the session's temporary directory", "/tmp",
            "--tmpfs /tmp")
    without_landlock(engine, data)
    sockets(engine)
    limits(engine)
    stops(engine)
    published(engine)
    documented()
finally:
    engine.end()
    shutil.rmtree(data, ignore_errors=True)
sys.exit(f"{len(failures)} wrong: {', '.join(failures)}" if failures else 0)
