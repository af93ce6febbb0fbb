"""What the gateway costs, in one run: a direct connection to the same server and one `docker exec` per command are the
baselines. Nothing is asserted here; the table says what was measured and what was promised."""
import statistics, subprocess, time
from mcp import Http
from load import servers, url_places
from world import SHELL


def times(work, count):
    taken = []
    for _ in range(count):
        begin = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begin) * 1000)
    return sorted(taken)


def show(taken):
    at = lambda share: taken[min(len(taken) - 1, int(len(taken) * share))]
    return f"p50 {statistics.median(taken):8.2f} ms   p95 {at(0.95):8.2f}   max {taken[-1]:8.2f}"


def round_trips(world):
    address = servers(world, 1)[0]
    gateway = world.serve(url_places(world, "near", [address]))
    direct, through = Http(address, token="place-token").begin(), Http(gateway.address).begin()
    rows = []
    for name, method, params in (("tools/list", "tools/list", {}), ("bash true", "tools/call", {"name": "bash", "arguments": {"command": "true"}})):
        both = ([], [])
        for client in (direct, through):
            times(lambda: client.message(method, params), 20)
        for _ in range(200):  # In turn, so that the machine's other work meets both.
            for taken, client in zip(both, (direct, through)):
                taken += times(lambda: client.message(method, params), 1)
        both = [sorted(taken) for taken in both]
        rows.append(f"{name}: direct            {show(both[0])}")
        rows.append(f"{name}: through gateway   {show(both[1])}   added p50 {statistics.median(both[1]) - statistics.median(both[0]):.2f} ms (promised: 2)")
    return rows


def containers(world):
    rows = []
    cold = world.serve(world.docker_places("cold", per_owner=100, creates_per_second=100))

    def first_command(gateway, keep=None):
        client = Http(gateway.address).begin()
        client.text("true")
        (keep.append if keep is not None else lambda one: one.end())(client)

    first_command(cold)
    rows.append(f"first command, new container         {show(times(lambda: first_command(cold), 8))}   (promised: 1500)")
    warm = world.serve(world.docker_places("warm", extra="warm = 3", per_owner=100, creates_per_second=100))
    taken = []
    for _ in range(8):
        while len([name for name in world.containers("--filter", "status=running") if ".warm." in name]) < 3:
            time.sleep(0.1)
        time.sleep(1)
        taken += times(lambda: first_command(warm), 1)
    rows.append(f"first command, container made before {show(sorted(taken))}   (promised: 300)")
    client = Http(cold.address).begin()
    name = [one for one in world.containers("--filter", "status=running") if ".warm." not in one][0]
    both = ([], [])
    client.text("true")
    for _ in range(20):
        both[0].extend(times(lambda: world.engine.docker("exec", name, "/bin/bash", "-c", "true"), 1))
        both[1].extend(times(lambda: client.text("true"), 1))
    rows.append(f"one `docker exec` per command        {show(sorted(both[0]))}")
    rows.append(f"the same command through the gateway {show(sorted(both[1]))}   {statistics.median(both[0]) / statistics.median(both[1]):.0f} times faster")
    keep = []
    before = memory(world)
    for _ in range(10):
        first_command(cold, keep)
    rows.append(f"memory of 10 idle containers with one session each: {(memory(world) - before) / 10 / 2**20:.1f} MiB a container (PSS of its processes)")
    return rows


def memory(world):
    """The proportional share of every process in containers of gateways."""
    total = 0
    for name in world.containers("--filter", "status=running"):
        for line in world.engine.docker("top", name, "-eo", "pid").stdout.split()[1:]:
            try:
                rollup = open(f"/proc/{line}/smaps_rollup").read()
                total += int(rollup.split("Pss:")[1].split()[0]) * 1024
            except (OSError, IndexError):
                pass
    return total


def measure(world):
    rows = []
    for part in (round_trips, containers):
        rows += part(world)
        world.clean()
    return rows
