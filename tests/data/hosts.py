"""Hosts of a small internet: HTTP on port 80, HTTPS on port 443, ssh on port 22 if asked for, and a DNS server. Everything that reaches them is noted in
the file `log` of the directory that is the first argument. Ends with its parent."""

import ctypes, http.server, os, socket, socketserver, ssl, struct, subprocess, sys, threading, time

parent = os.getppid()
place = sys.argv[1]
lock = threading.Lock()
asked = {}


def end_with_parent():
    """A parent that has become an ordinary user may not send us a signal when it dies, so we look."""
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(0)


def note(text):
    with lock, open(place + "/log", "a") as log:
        log.write(text + "\n")


class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        host = self.headers.get("Host", "nobody")
        note(f"{self.command} {host} {self.path}")
        content = f"hello from {host}\n".encode()
        file = place + "/www" + self.path.split("?")[0]
        if os.path.isfile(file):
            content = open(file, "rb").read()
        elif os.path.isdir(place + "/www"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        if file.endswith("/"):
            self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        note(f"POST {self.headers.get('Host')} {self.rfile.read(length).decode()}")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_CONNECT(self):
        note(f"CONNECT {self.path}")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    address_family = socket.AF_INET6 if os.path.exists("/proc/net/if_inet6") else socket.AF_INET

    def server_bind(self):
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "test", self.server_address[1]

    def handle_error(self, *words):
        pass


def serve(port, tls):
    server = Server(("", port), Hello)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(place + "/cert.pem", place + "/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def answer(query):
    """rebind.test is a public address first, and this machine from the second question on."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += query[at] + 1
    name, kind = ".".join(labels).lower(), struct.unpack(">H", query[at + 1 : at + 3])[0]
    note(f"DNS {name}")
    question, records = query[12 : at + 5], b""
    if kind == 1 and name == "rebind.test":
        asked[name] = asked.get(name, 0) + 1
        address = "93.184.216.34" if asked[name] == 1 else "127.0.0.1"
        records = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
    code = 0x8180 if name == "rebind.test" else 0x8183
    return query[:2] + struct.pack(">HHHHH", code, 1, 1 if records else 0, 0, 0) + question + records


def names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    while True:
        query, peer = server.recvfrom(512)
        # A name that nobody ever answers for.
        if b"\x04slow\x04test\0" not in query:
            server.sendto(answer(query), peer)


open(place + "/log", "a").close()
os.chmod(place + "/log", 0o666)
serve(80, False)
serve(443, True)
threading.Thread(target=names, daemon=True).start()
threading.Thread(target=end_with_parent, daemon=True).start()
print("ready", flush=True)
# A test that needs ssh writes its configuration later.
while not os.path.exists(place + "/sshd_config"):
    time.sleep(0.05)
os.makedirs("/run/sshd", exist_ok=True)
sshd = subprocess.Popen(
    ["/usr/sbin/sshd", "-D", "-e", "-f", place + "/sshd_config"], preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9)
)
sshd.wait()
