"""Podman serves Docker's API: the same gateway, another engine."""
import os, shutil, subprocess
from mcp import Http, until
from world import SHELL

# Without CAP_SYS_RESOURCE, runc cannot raise the limits that Podman writes into every bundle.
RUNTIME = """#!/usr/bin/python3
import json, os, sys
words = sys.argv[1:]
for at, word in enumerate(words[:-1]):
    if word in ("--bundle", "-b"):
        path = os.path.join(words[at + 1], "config.json")
        bundle = json.load(open(path))
        bundle.get("process", {}).pop("rlimits", None)
        json.dump(bundle, open(path, "w"))
os.execvp("runc", ["runc", *words])
"""


class Podman:
    """Podman's service with data of its own, ended with the test."""

    def __init__(self, world):
        self.directory = world.directory / "podman"
        self.directory.mkdir()
        runtime = self.directory / "runtime"
        runtime.write_text(RUNTIME)
        runtime.chmod(0o755)
        # By itself Podman would choose crun and systemd where it finds them.
        self.command = ["podman", "--root", f"{self.directory}/root", "--runroot", f"{self.directory}/run",
                        "--storage-driver", os.environ.get("TESTUDO_TEST_STORAGE", "overlay").removesuffix("2"),
                        "--cgroup-manager", "cgroupfs", "--events-backend", "file", "--runtime", str(runtime)]
        self.host = f"unix://{self.directory}/socket"
        with (self.directory / "log").open("w") as log:
            self.service = subprocess.Popen([*self.command, "system", "service", "--time=0", self.host],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        world.started.append(self)
        until("Podman", (self.directory / "socket").exists)
        archive = self.directory / "image.tar"
        world.engine.docker("save", "--output", str(archive), SHELL)
        self.podman("load", "--input", str(archive))
        archive.unlink()

    def podman(self, *words):
        run = subprocess.run([*self.command, *words], capture_output=True, text=True)
        assert run.returncode == 0, (words, run.stderr)
        return run.stdout

    def containers(self):
        return self.podman("ps", "--all", "--filter", "label=testudo.gateway", "--format", "{{.Names}}").split()

    def kill(self):
        """Containers outlive their engine, so they are removed first."""
        names = self.containers()
        if names:
            self.podman("rm", "--force", "--time", "0", *names)
        self.service.kill()
        self.service.wait(60)
        self.podman("system", "reset", "--force")
        shutil.rmtree(self.directory, ignore_errors=True)


def podmans_containers_are_places_too(world):
    podman = Podman(world)
    project = world.directory / "project"
    project.mkdir(exist_ok=True)
    world.variables["CONTAINER_HOST"] = podman.host
    client = world.one(f"podman:{SHELL}", "--network", "none", cwd=project)
    assert f"podman:{SHELL}" in client.welcome["instructions"], client.welcome
    client.text("echo from podman > made")
    assert (project / "made").read_text() == "from podman\n"
    number = client.begin_call("echo begun > begun-podman; sleep 300; echo done", timeout=300_000)
    until("the command", (project / "begun-podman").exists)
    podman.podman("kill", *podman.containers())
    result = client.wait(number)["result"]
    text = result["content"][0]["text"]
    assert result["_meta"]["testudo/outcome"] == "lost" and "is gone" in text, result
    client.end()
    assert podman.containers() == [], "containers end with their clients"
    return "Podman " + podman.podman("version", "--format", "{{.Server.Version}}").strip()


def podmans_containers_can_wait_for_an_owner(world):
    podman = Podman(world)
    entry = (f'[[place]]\nname = "podman"\nplace = "podman:{SHELL}"\nengine = "{podman.host}"\nnetwork = "none"\nwarm = 1\n')
    places = world.places("podman", entry, creates_per_second=100)
    one, two = world.serve(places), world.serve(places)
    until("a waiting container", lambda: any(".warm." in name for name in podman.containers()))
    client = Http(one.address).begin()
    client.text("export WHO=alice")
    client.address = two.address
    assert client.text("echo $WHO") == "alice"
    until("the next one", lambda: any(".warm." in name for name in podman.containers()))
    client.end()
    assert all(".warm." in name for name in podman.containers()), podman.containers()


TESTS = [podmans_containers_are_places_too, podmans_containers_can_wait_for_an_owner]
