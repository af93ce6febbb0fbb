"""Hosts in network namespaces of this machine, each with an address, an sshd and a home of its own."""
import os, pathlib, shutil, subprocess, time

SSHD = "/usr/sbin/sshd"


def run(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


class Hosts:
    def __init__(self, directory, names):
        self.directory = pathlib.Path(directory)
        self.mark = f"{os.getpid() % 100000}"
        self.network = f"10.213.{os.getpid() % 250}"
        self.bridge, self.names, self.daemons = f"tgb{self.mark}", names, {}
        run("ip", "link", "add", self.bridge, "type", "bridge")
        run("ip", "address", "add", f"{self.network}.1/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        key = self.directory / "key-of-client"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        os.makedirs("/run/sshd", exist_ok=True)
        config = []
        for number, name in enumerate(names, start=2):
            self.start(number, name, key)
            config.append(f"Host {name}\n HostName {self.network}.{number}\n Port 2222\n User root\n IdentityFile {key}\n"
                          f" IdentitiesOnly yes\n UserKnownHostsFile {self.directory}/known\n StrictHostKeyChecking accept-new\n")
        self.config = self.directory / "ssh_config"
        self.config.write_text("\n".join(config))
        for name in names:
            deadline = time.monotonic() + 30
            while subprocess.run(["ssh", "-F", str(self.config), name, "true"], capture_output=True).returncode != 0:
                assert time.monotonic() < deadline, f"{name} does not answer"
                time.sleep(0.2)

    def start(self, number, name, key):
        space, outer, inner = f"tg{self.mark}{name}", f"tgv{self.mark}{number}", f"tgi{self.mark}{number}"
        home = self.home(name)
        (home / "project").mkdir(parents=True)
        run("ip", "netns", "add", space)
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
        run("ip", "link", "set", inner, "netns", space)
        run("ip", "link", "set", outer, "master", self.bridge, "up")
        inside = ("ip", "netns", "exec", space)
        run(*inside, "ip", "address", "add", f"{self.network}.{number}/24", "dev", inner)
        run(*inside, "ip", "link", "set", inner, "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        settings = self.directory / f"sshd-{name}"
        settings.mkdir()
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(settings / "host"))
        shutil.copy(f"{key}.pub", settings / "authorized")
        (settings / "config").write_text(
            f"Port 2222\nListenAddress {self.network}.{number}\nHostKey {settings}/host\nAuthorizedKeysFile {settings}/authorized\n"
            f"UsePAM no\nStrictModes no\nPermitRootLogin yes\nPidFile {settings}/pid\nSetEnv HOME={home}\n")
        self.daemons[name] = subprocess.Popen([*inside, SSHD, "-D", "-f", str(settings / "config")],
                                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def inside(self, name):
        """The words before a command that runs on a host."""
        return ["ip", "netns", "exec", f"tg{self.mark}{name}"]

    def address(self, name):
        return f"{self.network}.{self.names.index(name) + 2}"

    def home(self, name):
        return self.directory / f"home-{name}"

    def cut(self, name):
        run("ip", "link", "set", self.link(name), "down")

    def heal(self, name):
        run("ip", "link", "set", self.link(name), "up")

    def link(self, name):
        return f"tgv{self.mark}{self.names.index(name) + 2}"

    def end(self):
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
        for number, name in enumerate(self.names, start=2):
            subprocess.run(["ip", "netns", "del", f"tg{self.mark}{name}"], capture_output=True)
            subprocess.run(["ip", "link", "del", f"tgv{self.mark}{number}"], capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True)
