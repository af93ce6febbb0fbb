"""The gateways under test, their files and a Docker engine of their own."""
import os, pathlib, random, shutil, signal, subprocess, sys, tempfile, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "containers"))
from engine import Engine  # noqa: E402

SHELL, MUSL, EMPTY = "gateway:glibc", "gateway:static", "gateway:empty"


class World:
    def __init__(self, gateway, testudo, data):
        self.gateway_program, self.testudo = str(gateway), str(testudo)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
        self.home = self.directory / "home"
        self.home.mkdir()
        (self.directory / "tokens").write_text("alice alice-token\nbob bob-token\n")
        self.started, self.variables = [], {}
        self.engine = Engine(data, storage=os.environ.get("TESTUDO_TEST_STORAGE", "overlay2"))
        self.make_images()

    def make_images(self):
        self.engine.make_image(None, SHELL)
        context = self.directory / "static"
        (context / "root/bin").mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), context / "root/bin/busybox")
        (context / "root/bin/sh").symlink_to("busybox")
        (context / "Dockerfile").write_text("FROM scratch\nCOPY root/ /\n")
        self.engine.docker("build", "--quiet", "--tag", MUSL, str(context))
        empty = self.directory / "empty"
        empty.mkdir()
        (empty / "hello").write_text("hello\n")
        (empty / "Dockerfile").write_text("FROM scratch\nCOPY hello /hello\n")
        self.engine.docker("build", "--quiet", "--tag", EMPTY, str(empty))

    def environment(self):
        return {**os.environ, "HOME": str(self.home), "DOCKER_HOST": self.engine.host,
                "XDG_RUNTIME_DIR": str(self.directory), **self.variables}

    def one(self, place, *options, cwd=None):
        """The command of a gateway for one client."""
        from mcp import Stdio
        command = [self.gateway_program, "--place", place, "--testudo", self.testudo, *options]
        return Stdio(command, env=self.environment(), cwd=cwd)

    def places(self, name, entries, **limits):
        text = [f'token_file = "{self.directory}/tokens"', f'key_file = "{self.directory}/key"',
                f'directory = "{self.directory}/run"', f'testudo = "{self.testudo}"', "[limits]"]
        text += [f"{key} = {value}" for key, value in limits.items()]
        path = self.directory / f"{name}.toml"
        path.write_text("\n".join(text) + "\n" + entries)
        return path

    def docker_places(self, name, image=SHELL, extra="", **limits):
        entry = f'[[place]]\nname = "{name}"\nplace = "docker:{image}"\nengine = "{self.engine.host}"\nnetwork = "none"\n{extra}\n'
        return self.places(name, entry, **limits)

    def serve(self, places, wait=True):
        gateway = Gateway(self, places)
        self.started.append(gateway)
        return gateway.listening() if wait else gateway

    def containers(self, *more):
        """Names of all containers that gateways have made."""
        return list(self.place_ids(*more))

    def place_ids(self, *more):
        """The same, each with the id of its place."""
        words = ("ps", "--all", "--filter", "label=testudo.gateway", *more, "--format", '{{.Names}} {{.Label "testudo.place"}}')
        return dict(line.split() for line in self.engine.docker(*words).stdout.splitlines())

    def clean(self):
        # What was started last may need what was started before it.
        for program in reversed(self.started):
            program.kill()
        self.started.clear()
        self.variables.clear()
        names = self.containers()
        if names:
            self.engine.docker("rm", "--force", "--volumes", *names)
        shutil.rmtree(self.directory / "run", ignore_errors=True)

    def end(self):
        self.clean()
        self.engine.end()
        shutil.rmtree(self.directory, ignore_errors=True)


class Gateway:
    def __init__(self, world, places):
        command = [world.gateway_program, "serve", "--places", str(places), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, env=world.environment())
        self.address = None
        self.log = []

    def listening(self):
        for line in self.process.stderr:
            self.log.append(line)
            if "listens on http://" in line:
                self.address = line.split("http://")[1].split("/mcp")[0]
                threading.Thread(target=self.drain, daemon=True).start()
                return self
        raise AssertionError("the gateway does not start: " + "".join(self.log))

    def drain(self):
        for line in self.process.stderr:
            self.log.append(line)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def kill(self):
        self.process.kill()
        self.process.wait(60)
