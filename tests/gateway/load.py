"""300 sessions over three servers through two gateways, with a ledger kept by the clients."""
import os, subprocess, time
from concurrent.futures import ThreadPoolExecutor
from mcp import Http

SESSIONS, CALLS = 300, 20


def servers(world, count):
    """Servers behind URLs, as somebody else may run them."""
    return [server(world, world.directory / f"server-{number}") for number in range(count)]


def server(world, project, before=(), host="127.0.0.1"):
    project.mkdir(exist_ok=True)
    environment = {**world.environment(), "XDG_STATE_HOME": f"{project}-state"}
    command = [*before, world.testudo, "--transport", "http", "--listen", f"{host}:0", "--token", "place-token", "--sandbox", "off"]
    process = subprocess.Popen(command, cwd=project, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    world.started.append(process_to_kill(process))
    for line in process.stderr:
        if "listens on http://" in line:
            return line.split("http://")[1].split("/mcp")[0]
    raise AssertionError("the server does not start")


class process_to_kill:
    def __init__(self, process):
        self.process = process

    def kill(self):
        self.process.kill()
        self.process.wait(60)


def url_places(world, name, addresses, **limits):
    (world.directory / "place-token").write_text("place-token")
    urls = ", ".join(f'"http://{address}/mcp"' for address in addresses)
    entry = f'[[place]]\nname = "{name}"\nplace = [{urls}]\nplace_token_file = "{world.directory}/place-token"\n'
    return world.places(name, entry, **limits)


def three_hundred_sessions_do_not_mix(world):
    places = url_places(world, "many", servers(world, 3))
    gateways = [world.serve(places), world.serve(places)]

    def work(number):
        name, owner = f"s{number}", ("alice-token", "bob-token")[number % 2]
        client = Http(gateways[number % 2].address, token=owner).begin()
        client.text(f"mkdir -p {name} && cd {name} && export NAME={name} && echo {name} > mine")
        for call in range(CALLS):
            client.address = gateways[(number + call) % 2].address
            answer = client.text(f'echo {call} >> ledger; echo "{call} $NAME $(cat mine) ${{PWD##*/}}"')
            assert answer == f"{call} {name} {name} {name}", (name, call, answer)
        assert client.text("cat ledger").split() == [str(one) for one in range(CALLS)]
        return client

    begin = time.monotonic()
    with ThreadPoolExecutor(20) as pool:
        clients = list(pool.map(work, range(SESSIONS)))
    took = time.monotonic() - begin
    count = SESSIONS * (CALLS + 2)
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda client: client.end(), clients))
    return f"{SESSIONS} sessions, {count} commands in {took:.0f} s ({count / took:.0f}/s), no answer mixed up, each call ran once"


TESTS = [three_hundred_sessions_do_not_mix]
