"""Stand-ins for the hosts that package managers use, on port 443 and 80 of every address of this machine. What reaches them is
noted in the file `log` of the directory that is the first argument. Each registry has one package, `tiny`. Ends with its
parent."""
import base64, ctypes, gzip, hashlib, http.server, io, json, os, socketserver, ssl, subprocess, sys, tarfile, threading, zipfile

ctypes.CDLL(None).prctl(1, 9)
place = sys.argv[1]
lock = threading.Lock()
SAYS = "hello from tiny"


def tar(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(text), 0o644
            archive.addfile(about, io.BytesIO(text.encode()))
    return packed.getvalue()


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def pypi():
    about = "tiny-1.0.dist-info/"
    wheel = zipped({"tiny.py": f"print({SAYS!r})\n", about + "METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
                    about + "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                    about + "RECORD": ""})
    name = "tiny-1.0-py3-none-any.whl"
    link = f'<a href="https://files.pythonhosted.org/{name}#sha256={sha256(wheel)}">{name}</a>'
    return {"pypi.org/simple/tiny/": link.encode(), f"files.pythonhosted.org/{name}": wheel}


def crates():
    crate = tar({"tiny-1.0.0/Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\n',
                 "tiny-1.0.0/src/lib.rs": f"pub const SAYS: &str = {json.dumps(SAYS)};\n"})
    line = {"name": "tiny", "vers": "1.0.0", "deps": [], "cksum": sha256(crate), "features": {}, "yanked": False}
    return {"index.crates.io/config.json": b'{"dl":"https://static.crates.io/crates","api":"https://crates.io"}',
            "index.crates.io/ti/ny/tiny": json.dumps(line).encode(), "static.crates.io/crates/tiny/1.0.0/download": crate}


def go():
    at, module = "proxy.golang.org/example.org/tiny/@v/", "module example.org/tiny\n"
    code = f"package tiny\n\nconst Says = {json.dumps(SAYS)}\n"
    return {at + "list": b"v1.0.0\n", at + "v1.0.0.info": b'{"Version":"v1.0.0"}', at + "v1.0.0.mod": module.encode(),
            at + "v1.0.0.zip": zipped({"example.org/tiny@v1.0.0/go.mod": module, "example.org/tiny@v1.0.0/tiny.go": code})}


def npm():
    package = json.dumps({"name": "tiny", "version": "1.0.0", "main": "index.js"})
    packed = tar({"package/package.json": package, "package/index.js": f"console.log({SAYS!r})\n"})
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    dist = {"tarball": "https://registry.npmjs.org/tiny/-/tiny-1.0.0.tgz", "integrity": integrity}
    about = {"name": "tiny", "dist-tags": {"latest": "1.0.0"},
             "versions": {"1.0.0": {"name": "tiny", "version": "1.0.0", "main": "index.js", "dist": dist}}}
    return {"registry.npmjs.org/tiny": json.dumps(about).encode(), "registry.npmjs.org/tiny/-/tiny-1.0.0.tgz": packed}


def debian():
    tree = place + "/deb"
    os.makedirs(tree + "/DEBIAN")
    os.makedirs(tree + "/usr/share/tiny")
    for name, text in (("DEBIAN/control", "Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@x>\nDescription: x\n"),
                       ("usr/share/tiny/says", SAYS + "\n")):
        with open(f"{tree}/{name}", "w") as file:
            file.write(text)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, place + "/tiny.deb"], check=True, capture_output=True)
    with open(place + "/tiny.deb", "rb") as file:
        package = file.read()
    about = subprocess.run(["dpkg-deb", "--field", place + "/tiny.deb"], check=True, capture_output=True, text=True).stdout
    about += f"Filename: ./tiny.deb\nSize: {len(package)}\nSHA256: {sha256(package)}\n"
    return {"deb.debian.org/flat/./Packages": about.encode(), "deb.debian.org/flat/./tiny.deb": package}


FILES = {**pypi(), **crates(), **go(), **npm(), **debian()}


def repository():
    script = f"""set -e; git init -q --bare {place}/git/tiny.git; git init -q {place}/work; cd {place}/work
    echo {SAYS} > says; git add says; git -c user.name=n -c user.email=e@x commit -qm first; git push -q {place}/git/tiny.git HEAD:main
    git -C {place}/git/tiny.git symbolic-ref HEAD refs/heads/main; git -C {place}/git/tiny.git config http.receivepack true"""
    subprocess.run(["sh", "-c", script], check=True)


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def note(self):
        with lock, open(place + "/log", "a") as log:
            log.write(f"{self.command} {self.scheme}://{self.headers.get('Host')}{self.path}\n")

    def answer(self, status, content, headers=()):
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_GET(self):
        self.note()
        path, _, query = self.path.partition("?")
        if self.headers.get("Host") == "github.com":
            return self.git(path, query)
        content = FILES.get(f"{self.headers.get('Host')}{path}")
        if content is None:
            return self.answer(404, b"")
        self.answer(200, content, [("Content-Type", "text/html" if path.startswith("/simple") else "application/octet-stream")])

    do_HEAD = do_POST = do_GET

    def git(self, path, query):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        about = {"GIT_PROJECT_ROOT": place + "/git", "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                 "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_USER": "x",
                 "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=body, env={**os.environ, **about}, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.answer(int(headers.pop("Status", "200").split()[0]), content, headers.items())

    def log_message(self, *words):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *words):
        pass


def serve(port, scheme):
    server = Server(("0.0.0.0", port), type("One", (Registry,), {"scheme": scheme}))
    if scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(place + "/cert.pem", place + "/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


open(place + "/log", "a").close()
repository()
serve(80, "http")
serve(443, "https")
print("ready", flush=True)
threading.Event().wait()
