"""What the gateway costs, in one run: a direct connection to the same server and one `docker exec` per command are the
baselines. Nothing is asserted here; the table says what was measured and what was promised."""
import http.client, os, statistics, threading, time
from concurrent.futures import ThreadPoolExecutor
from mcp import Http, until
from load import servers, url_places
from soak import figures


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
    return rows


def dead_places(world):
    """From `docker kill` and `docker pause` until the client hears of it, in mid-command. A frozen place may come back, so its
    client hears of it after `patience`; here that is nothing."""
    rows = []
    for what, outcome, patience in (("kill", "lost", 60), ("pause", "running", 0)):
        gateway = world.serve(world.docker_places(what, per_owner=100, creates_per_second=100, patience=patience))
        taken = []
        for _ in range(5):
            client = Http(gateway.address).begin()
            client.text("true")
            name = next(name for name, place in world.place_ids().items() if place == client.place())
            answers = []
            calling = threading.Thread(target=lambda: answers.append((client.call("sleep 600", timeout=600_000), time.perf_counter())))
            calling.start()
            while "sleep 600" not in world.engine.docker("top", name).stdout:
                time.sleep(0.05)
            begin = time.perf_counter()
            world.engine.docker(what, name)
            calling.join()
            result, end = answers[0]
            assert result["_meta"]["testudo/outcome"] == outcome, result
            taken.append((end - begin) * 1000)
            world.engine.docker("rm", "--force", name)
        rows.append(f"a container after `docker {what}` is noticed {show(sorted(taken))}   (promised: 5000)")
    return rows


def capacity(world):
    gateway = world.serve(world.docker_places("many", per_owner=200, creates_per_second=1000))
    count, keep = 24, []

    def create(_):
        client = Http(gateway.address).begin()
        client.text("true")
        keep.append(client)

    before, own = memory(world), figures(gateway.process)
    begin = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, range(count)))
    took = time.perf_counter() - begin
    each = (memory(world) - before) / count / 2**20
    cpu, begin = processor_time(world), time.perf_counter()
    time.sleep(20)
    idle = (processor_time(world) - cpu) / (time.perf_counter() - begin) / count
    after = figures(gateway.process)
    return [f"{count} containers, each with a first command, 4 at once: {count / took:.1f} a second",
            f"an idle session in a container: {each:.1f} MiB (PSS of its processes), {1024 / each:.0f} per GiB, "
            f"{idle * 100:.3f} % of a core",
            f"the gateway for {count} of them: {own[0]:.1f} to {after[0]:.1f} MiB, {own[1]} to {after[1]} descriptors"]


def idle_clients(world):
    """A thousand clients that listen and do nothing."""
    gateway = world.serve(url_places(world, "idle", servers(world, 4)))
    count, before, streams = 1000, figures(gateway.process), []

    def begin(_):
        client = Http(gateway.address).begin()
        client.connection.close()
        connection = http.client.HTTPConnection(gateway.address)
        connection.request("GET", "/mcp", headers={"Authorization": "Bearer alice-token", "Accept": "text/event-stream",
                                                   "Mcp-Session-Id": client.session, "Mcp-Protocol-Version": "2025-11-25"})
        assert connection.getresponse().status == 200
        streams.append(connection)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(begin, range(count)))
    time.sleep(35)  # Connections without a request are closed after 30 s.
    during, cpu, at = figures(gateway.process), seconds_of(gateway.process.pid), time.perf_counter()
    time.sleep(10)
    share = (seconds_of(gateway.process.pid) - cpu) / (time.perf_counter() - at) * 100
    assert all(connection.sock for connection in streams)
    [connection.close() for connection in streams]
    until("the descriptors to be closed", lambda: figures(gateway.process)[1] <= before[1] + 50)
    after = figures(gateway.process)
    return [f"{count} idle clients, each with an open stream: {before[0]:.1f} to {during[0]:.1f} MiB "
            f"({(during[0] - before[0]) * 1024 / count:.0f} KiB each), {before[1]} to {during[1]} descriptors, {share:.2f} % of a core; "
            f"after they left {after[1]} descriptors"]


def processes(world):
    for name in world.containers("--filter", "status=running"):
        yield from world.engine.docker("top", name, "-eo", "pid").stdout.split()[1:]


def seconds_of(pid):
    """Processor time of a process."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processor_time(world):
    return sum(seconds_of(pid) for pid in processes(world))


def memory(world):
    """The proportional share of every process in containers of gateways."""
    total = 0
    for pid in processes(world):
        try:
            rollup = open(f"/proc/{pid}/smaps_rollup").read()
            total += int(rollup.split("Pss:")[1].split()[0]) * 1024
        except (OSError, IndexError):
            pass
    return total


PARTS = [round_trips, containers, dead_places, capacity, idle_clients]


def measure(world, wanted):
    for part in PARTS:
        if not wanted or part.__name__ in wanted:
            print("\n".join(part(world)), flush=True)
            world.clean()
