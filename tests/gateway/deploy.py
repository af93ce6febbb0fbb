"""What deploy/gateway has: the image, the compose file and the unit of systemd."""
import pathlib, shutil, socket, subprocess
from mcp import Http, until
from world import SHELL

DEPLOY = pathlib.Path(__file__).parent.parent.parent / "deploy/gateway"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def the_unit_is_one_that_systemd_takes(world):
    """In a system of its own with Debian's units, because a unit is not complete without its program."""
    root = world.directory / "systemd"
    for folder in ("etc/systemd/system", "usr/bin", "usr/lib/systemd"):
        (root / folder).mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    shutil.copytree("/lib/systemd/system", root / "usr/lib/systemd/system", symlinks=True)
    shutil.copy(DEPLOY / "testudo-gateway@.service", root / "etc/systemd/system")
    shutil.copy(world.gateway_program, root / "usr/bin/testudo-gateway")

    def verify():
        run = subprocess.run(["systemd-analyze", f"--root={root}", "verify", "testudo-gateway@8741.service"],
                             capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    assert verify() == (0, ""), verify()
    unit = root / "etc/systemd/system/testudo-gateway@.service"
    unit.write_text(unit.read_text().replace("Restart=", "Restrat="))
    assert "Restrat" in verify()[1], "systemd names a mistake"


def the_compose_file_starts_two_gateways_that_serve_one_session(world):
    """Paths and ports of the machine are replaced by the test's own; the rest of the file is as it is."""
    compose = pathlib.Path(shutil.which("docker-compose") or "")
    context = world.directory / "compose"
    for folder in ("image", "etc", "opt", "run"):
        (context / folder).mkdir(parents=True)
    (context / "run").chmod(0o700)
    for name, program in (("testudo", world.testudo), ("testudo-gateway", world.gateway_program)):
        shutil.copy(program, context / "image" / name)
    shutil.copy(world.testudo, context / "opt/testudo")
    world.engine.docker("build", "--quiet", "--tag", "testudo-gateway", "--file", str(DEPLOY / "Dockerfile"), str(context / "image"))
    text = (DEPLOY / "compose.yaml").read_text()
    ports = [free_port(), free_port()]
    replaced = {"- /var/run/docker.sock:": f"- {world.engine.host.removeprefix('unix://')}:",
                "/run/testudo-gateway:/run/testudo-gateway": f"{context}/run:{context}/run",
                "/opt/testudo:/opt/testudo": f"{context}/opt:{context}/opt",
                "127.0.0.1:8741:": f"127.0.0.1:{ports[0]}:", "127.0.0.1:8742:": f"127.0.0.1:{ports[1]}:"}
    for old, new in replaced.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (context / "compose.yaml").write_text(text)
    (context / "etc/tokens").write_text("alice alice-token\n")
    (context / "etc/places.toml").write_text(
        f'listen = "0.0.0.0:8741"\ntoken_file = "/etc/testudo-gateway/tokens"\nkey_file = "/var/lib/testudo-gateway/key"\n'
        f'testudo = "{context}/opt/testudo"\ndirectory = "{context}/run"\n'
        f'[[place]]\nname = "work"\nplace = "docker:{SHELL}"\nnetwork = "none"\n')

    def run(*words):
        done = subprocess.run([str(compose), "--project-name", "testudo", "--file", str(context / "compose.yaml"), *words],
                              env=world.environment(), capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stderr[-2000:])
        return done.stdout

    try:
        run("up", "--detach")
        clients = [Http(f"127.0.0.1:{port}") for port in ports]

        def begun():
            try:
                return clients[0].begin()
            except ConnectionError:
                return None

        until("the first gateway", begun)
        assert clients[0].text("export WHO=alice; echo made") == "made"
        clients[1].session = clients[0].session
        until("the second gateway", lambda: answers(clients[1]))
        assert clients[1].text("echo $WHO") == "alice"
        run("stop", "gateway-a")
        states = world.engine.docker("ps", "--all", "--filter", "label=com.docker.compose.service=gateway-a",
                                     "--format", "{{.Status}}").stdout
        assert "Exited (0)" in states, f"it ends well when it is asked to: {states}"
        assert clients[1].text("echo $WHO") == "alice"
        clients[1].end()
    finally:
        run("down", "--volumes")
        world.engine.docker("rmi", "testudo-gateway", check=False)
    assert world.containers() == []


def answers(client):
    try:
        return client.text("true") == ""
    except ConnectionError:
        return False


TESTS = [the_unit_is_one_that_systemd_takes, the_compose_file_starts_two_gateways_that_serve_one_session]
