"""Shows that package managers work through the proxy of `--network hosts` with nothing but `--allow-host @GROUP`, and what
they print when a host is refused.

`run.py BINARY TOOLS`: the binary to test, and the directory into which `scripts/test-network-tools` has installed the tools. Runs
as root, in a network namespace with nothing but a loopback interface. The hosts are stand-ins (`registries.py`).
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = ["pypi.org", "files.pythonhosted.org", "index.crates.io", "static.crates.io", "crates.io", "proxy.golang.org",
         "registry.npmjs.org", "deb.debian.org", "github.com"]
ADDRESS = "93.184.216.34"
NOBODY = 65534
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tools", "version": "1"}}
APT = ("mkdir -p apt/lists/partial apt/cache/archives/partial && echo 'deb [trusted=yes] http://deb.debian.org/flat ./' > apt/list && "
       "apt() { /usr/bin/apt-get -qo Dir::Etc::sourcelist=$PWD/apt/list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/apt/lists "
       "-o Dir::Cache=$PWD/apt/cache -o APT::Sandbox::User= -o Debug::NoLocking=1 \"$@\"; } && apt update && apt download tiny && "
       "dpkg-deb -x tiny_1.0_all.deb out && cat out/usr/share/tiny/says")
# Tool: the group, the command, what the hosts must have seen, and the host that a refusal names.
TOOLS = {
    "pip": ("@pypi", "python3 -m venv v && v/bin/pip install -q tiny && v/bin/python -m tiny",
            "GET https://files.pythonhosted.org/tiny-1.0-py3-none-any.whl", "pypi.org"),
    # uv would run what lies in its cache, so at level landlock commands cannot write the person's.
    "uv": ("@pypi", "export UV_CACHE_DIR=$PWD/cache && uv venv -q u && uv pip install -q --python u/bin/python tiny && "
           "u/bin/python -m tiny", "https://files.pythonhosted.org/tiny-1.0-py3-none-any.whl", "pypi.org"),
    "cargo": ("@crates", "cargo init -q --name user c && cd c && cargo add -q tiny && echo 'fn main() { println!(\"{}\", tiny::SAYS) }' "
              "> src/main.rs && cargo run -q", "GET https://static.crates.io/crates/tiny/1.0.0/download", "index.crates.io"),
    "go": ("@go", "mkdir g && cd g && go mod init user && go get example.org/tiny && printf 'package main\\nimport \"example.org/tiny\"\\nfunc "
           "main() { println(tiny.Says) }\\n' > main.go && go run . 2>&1", "GET https://proxy.golang.org/example.org/tiny/@v/v1.0.0.zip",
           "proxy.golang.org"),
    "npm": ("@npm", "mkdir n && cd n && npm install --no-audit --no-fund tiny && node -e 'require(\"tiny\")'",
            "GET https://registry.npmjs.org/tiny/-/tiny-1.0.0.tgz", "registry.npmjs.org"),
    "node 24, fetch": ("@npm", "node24 -e 'fetch(\"https://registry.npmjs.org/tiny\").then((r) => r.json()).then((r) => "
                       "console.log(\"hello from\", r.name), (e) => { console.log(e, e.cause); process.exit(1) })'",
                       "GET https://registry.npmjs.org/tiny", "registry.npmjs.org"),
    "node 24, http.get": ("@npm", "node24 -e 'require(\"http\").get(\"http://registry.npmjs.org/tiny\", (r) => { let t = \"\"; "
                          "r.on(\"data\", (d) => { t += d }).on(\"end\", () => { if (r.statusCode != 200) { console.log(t); process.exit(1) } "
                          "console.log(\"hello from\", JSON.parse(t).name) }) })'", "GET http://registry.npmjs.org/tiny", "registry.npmjs.org"),
    "apt": ("@debian", APT, "GET http://deb.debian.org/flat/./tiny.deb", "deb.debian.org"),
    "git": ("@github", "git clone -q https://github.com/tiny.git && cd tiny && cat says && git -c user.name=n -c user.email=e@x commit -q "
            "--allow-empty -m second && git push -q origin HEAD:refs/heads/b$RANDOM$RANDOM", "POST https://github.com/tiny.git/git-receive-pack",
            "github.com"),
    "wget": ("@npm", "set -o pipefail; wget -qO- https://registry.npmjs.org/tiny | sed 's/.*name\": \"tiny\".*/hello from tiny/'",
             "GET https://registry.npmjs.org/tiny", "registry.npmjs.org"),
    "curl": ("@npm", "set -o pipefail; curl -sSf https://registry.npmjs.org/tiny | sed 's/.*name\": \"tiny\".*/hello from tiny/'",
             "GET https://registry.npmjs.org/tiny", "registry.npmjs.org"),
}
SAYS = "hello from tiny"
failures = []


def check(name, right, evidence):
    print(f"{'ok   ' if right else 'WRONG'} {name}", flush=True)
    if not right:
        failures.append(name)
        print(evidence, flush=True)


def sh(script):
    subprocess.run(["sh", "-ec", script], check=True)


def certificate(place):
    """The tools trust it as they trust any authority: by the system's list, or by a variable where they bring a list of their own."""
    names = ",".join(f"DNS:{name}" for name in HOSTS)
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    (place / "extensions").write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
    sh(f"cd {place}; openssl req -x509 {key} -days 2 -subj /CN=authority -keyout authority.key -out authority.pem 2> /dev/null; "
       f"openssl req {key} -subj /CN=test -keyout key.pem -out request 2> /dev/null; openssl x509 -req -in request -CA authority.pem "
       "-CAkey authority.key -CAcreateserial -days 2 -extfile extensions -out cert.pem 2> /dev/null; cat "
       "/etc/ssl/certs/ca-certificates.crt authority.pem > trusted; chmod 644 authority.pem; mount --bind trusted "
       "/etc/ssl/certs/ca-certificates.crt")
    path = f"{place}/authority.pem"
    return {"NODE_EXTRA_CA_CERTS": path, "PIP_CERT": path, "SSL_CERT_FILE": path, "CARGO_HTTP_CAINFO": path}


def internet(place):
    hosts = place / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{ADDRESS} {name}\n" for name in HOSTS))
    (place / "empty").write_text("")
    # What the machine says about its own registries is not for these tests.
    for name in ("/etc/pip.conf", "/etc/npmrc", "/usr/etc/npmrc"):
        if os.path.exists(name):
            sh(f"mount --bind {place}/empty {name}")
    for directory in ("/etc/apt/apt.conf.d", "/etc/apt/auth.conf.d"):
        if os.path.isdir(directory):
            sh(f"mount -t tmpfs none {directory}")
    sh(f"ip link set lo up; ip addr add {ADDRESS}/32 dev lo; mount --bind {hosts} /etc/hosts")
    servers = subprocess.Popen([sys.executable, HERE / "registries.py", place], stdout=subprocess.PIPE, text=True)
    assert servers.stdout.readline() == "ready\n"
    return servers


class Server:
    """A server as a client starts it, for one level and user."""

    def __init__(self, place, level, user, variables, arguments):
        self.world = pathlib.Path(tempfile.mkdtemp(prefix="world-", dir=place))
        for name in ("home", "project"):
            (self.world / name).mkdir()
        (self.world / "config.toml").write_text(f'[sandbox]\nlevel = "{level}"\n')
        for path in (self.world, *self.world.iterdir()):
            os.chown(path, user, user)
        path = "/opt/node:/opt/go/bin:/opt/uv:/opt/rust/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        variables = {"HOME": str(self.world / "home"), "PATH": path, "LANG": "C.UTF-8", "GOSUMDB": "off", "GOTOOLCHAIN": "local",
                     "UV_PYTHON_DOWNLOADS": "never", **variables}
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        words = [*become, "/opt/testudo", "--config", str(self.world / "config.toml"), *arguments]
        self.process = subprocess.Popen(words, env=variables, cwd=self.world / "project", stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ids = 0
        hello = self.request("initialize", HELLO)["instructions"]
        assert f"level {'full' if level == 'auto' else level}" in hello, hello

    def request(self, method, params):
        self.ids += 1
        print(json.dumps({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.ids:
                return answer["result"]
        raise AssertionError("the server has gone: " + self.process.stderr.read())

    def bash(self, command):
        result = self.request("tools/call", {"name": "bash", "arguments": {"command": command, "timeout": 600_000}})
        return "".join(part.get("text", "") for part in result["content"])

    def end(self):
        self.process.communicate()
        shutil.rmtree(self.world)


def main():
    binary, tools, *wanted = sys.argv[1:]
    place = pathlib.Path(tempfile.mkdtemp(prefix="testudo-tools-", dir="/var/tmp"))
    place.chmod(0o755)
    rust = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    # Every user can read them there.
    sh("mount -t tmpfs none /opt; chmod 755 /opt; touch /opt/testudo; mkdir /opt/rust /opt/go /opt/uv /opt/node")
    for source, target in ((binary, "testudo"), (rust, "rust"), (tools + "/go", "go"), (tools + "/uv", "uv"), (tools + "/node", "node")):
        sh(f"mount --bind {os.path.abspath(source)} /opt/{target}")
    variables = certificate(place)
    servers = internet(place)
    chosen = {name: tool for name, tool in TOOLS.items() if not wanted or name.split(",")[0] in wanted}
    groups = sorted({group for group, *_ in chosen.values()})
    for level, user in (("auto", 0), ("landlock", 0), ("auto", NOBODY), ("landlock", NOBODY)):
        case = f"level {'full' if level == 'auto' else level}, {'root' if user == 0 else 'an ordinary user'}"
        server = Server(place, level, user, variables, [word for group in groups for word in ("--allow-host", group)])
        for name, (_, command, seen, _) in chosen.items():
            (place / "log").write_text("")
            said = server.bash(f"({command})")
            log = (place / "log").read_text()
            check(f"{name}: {case}", SAYS in said and seen in log, f"{said}\n-- the hosts have seen:\n{log}")
        server.end()
    server = Server(place, "auto", 0, variables, ["--network", "hosts"])
    for name, (group, command, _, host) in chosen.items():
        (place / "log").write_text("")
        said = server.bash(f"({command})")
        port = 80 if "http://" in command else 443
        lines = (f"[sandbox: the host {host} (port {port}) is not among", f"--allow-host {host} would allow it", f"--allow-host {group} (")
        log = (place / "log").read_text()
        right = all(line in said for line in lines) and log == "" and "exit_code: 0" not in said
        check(f"{name}: refused with the setting that would allow it", right, f"{said}\n{log}")
    server.end()
    servers.kill()
    shutil.rmtree(place, ignore_errors=True)
    print(f"{len(failures)} failed" if failures else "all passed", flush=True)
    sys.exit(bool(failures))


main()
