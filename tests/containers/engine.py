"""A Docker engine of our own: its data below target/, its sockets in a temporary directory, ended with the test."""
import io, os, pathlib, shutil, signal, subprocess, tarfile, tempfile, time

DOCKERD, DOCKER = "/usr/sbin/dockerd", "/usr/bin/docker"
IMAGE = "testudo:test"


def public(entry):
    """Root without capabilities can run only what everybody can."""
    entry.uid, entry.gid, entry.mode = 0, 0, 0o755
    return entry


class Engine:
    def __init__(self, data, storage="vfs"):
        # A socket's path may have 107 characters, which a build directory can exceed.
        self.sockets = pathlib.Path(tempfile.mkdtemp(prefix="testudo-docker-", dir="/tmp"))
        self.host = f"unix://{self.sockets}/docker"
        data.mkdir(parents=True, exist_ok=True)
        self.log = data / "dockerd.log"
        with self.log.open("w") as log:
            self.daemon = subprocess.Popen(
                [DOCKERD, "--data-root", str(data / "data"), "--exec-root", str(self.sockets / "exec"),
                 "--pidfile", str(self.sockets / "pid"), "--host", self.host, "--storage-driver", storage,
                 "--bridge", "none", "--iptables=false", "--ip6tables=false"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while self.docker("version", check=False).returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the Docker engine does not start:\n" + self.log.read_text()[-3000:])
            time.sleep(0.1)

    def docker(self, *words, check=True, **options):
        options = {"capture_output": True, "text": True, **options}
        run = subprocess.run([DOCKER, "--host", self.host, *words], **options)
        if check and run.returncode != 0:
            raise SystemExit(f"docker {' '.join(words)}: {run.stderr}")
        return run

    def start(self, *words):
        """A container that talks over pipes."""
        return subprocess.Popen([DOCKER, "--host", self.host, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, bufsize=1)

    def make_image(self, binary, image=IMAGE):
        """Bash, busybox and the binary (if any) with its libraries: no registry is needed."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            def directory(name, mode=0o755):
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode = tarfile.DIRTYPE, mode
                tar.addfile(entry)

            def text(name, content):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o644
                tar.addfile(entry, io.BytesIO(content.encode()))

            files = {"bin/bash": "/bin/bash", "bin/busybox": shutil.which("busybox")}
            if binary:
                files["usr/bin/testudo"] = str(binary)
            for program in ("/bin/bash", *([str(binary)] if binary else [])):
                for line in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.splitlines():
                    files.update({word[1:]: word for word in line.split() if word.startswith("/")})
            parents = {str(parent) for name in files for parent in pathlib.Path(name).parents}
            for name in sorted(parents - {"."} | {"etc", "proc", "dev", "sys", "root", "work"}):
                directory(name)
            directory("tmp", 0o1777)
            text("etc/passwd", "root:x:0:0::/root:/bin/bash\nagent:x:1000:1000::/home/agent:/bin/bash\n")
            text("etc/group", "root:x:0:\nagent:x:1000:\n")
            for name, source in files.items():
                tar.add(os.path.realpath(source), arcname=name, filter=public)
            applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
            for applet in applets:
                link = tarfile.TarInfo(f"bin/{applet}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                if f"bin/{applet}" not in files:
                    tar.addfile(link)
        self.docker("import", "-", image, input=archive.getvalue(), text=False)

    def end(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait(60)
        shutil.rmtree(self.sockets, ignore_errors=True)
