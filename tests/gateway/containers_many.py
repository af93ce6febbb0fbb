"""Many clients, each with a container of its own."""
import os, random, threading, time
from concurrent.futures import ThreadPoolExecutor
from mcp import Http, Refused, new_id, stdout, until


def each_session_has_its_own_container_through_either_gateway(world):
    places = world.docker_places("own", per_owner=10, creates_per_second=100)
    one, two = world.serve(places), world.serve(places)
    alice, bob = Http(one.address).begin(), Http(two.address, token="bob-token").begin()
    alice.text("echo alice > /tmp/who || echo alice > $TMPDIR/who; export WHO=alice")
    bob.text("export WHO=bob")
    assert len(world.containers()) == 2
    for client, name in ((alice, "alice"), (bob, "bob")):
        client.address = two.address if client.address == one.address else one.address
        assert client.text("echo $WHO") == name
    alice.end()
    assert len(world.containers()) == 1, "DELETE ends the place"
    one.kill(), two.kill()
    three = world.serve(places)
    bob.address = three.address
    assert bob.text("echo $WHO") == "bob", "a new gateway finds the place again"
    bob.end()
    assert world.containers() == []


def a_client_without_sessions_keeps_its_place_and_hears_of_its_end(world):
    places = world.docker_places("slot", per_owner=10, creates_per_second=100)
    one, two = world.serve(places), world.serve(places)
    from modern import Modern
    client = Modern(one.address)
    both = ThreadPoolExecutor(2)
    list(both.map(lambda gateway: Modern(gateway.address).call("true"), (one, two)))
    assert len(world.containers()) == 1, "two gateways at once made one place"
    client.call("export WHO=alice")
    client.address = two.address
    assert client.text("echo $WHO") == "alice"
    world.engine.docker("kill", *world.containers())
    for gateway in (one, two, one):
        client.address = gateway.address
        answer = client.call("echo $WHO")
        assert answer["isError"] and "is gone" in answer["content"][0]["text"], answer
    client.discover()
    assert client.text("echo \"<$WHO>\"") == "<>", "a client that begins anew gets a new place"
    assert len(world.containers("--filter", "status=running")) == 1


def of_200_creates_at_once_50_are_made(world):
    places = world.docker_places("storm", per_owner=50, total=50, creates_per_second=1000)
    gateways = [world.serve(places), world.serve(places)]
    made, refused, other = [], [], []

    def create(number):
        try:
            made.append(Http(gateways[number % 2].address).begin())
        except Refused as error:
            (refused if error.status == 429 and int(error.headers["retry-after"]) > 0 else other).append(error)

    begin = time.monotonic()
    with ThreadPoolExecutor(200) as pool:
        list(pool.map(create, range(200)))
    took = time.monotonic() - begin
    running = world.containers("--filter", "status=running")
    assert not other, other[0]
    assert len(made) + len(refused) == 200
    assert len(made) <= 50 and len(running) == len(made) == len(world.containers()), (len(made), len(world.containers()))
    assert len(made) == 50, f"{len(made)} were made"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda client: client.end(), made))
    assert world.containers() == []
    return f"50 made, 150 refused with 429 in {took:.0f} s through two gateways ({50 / took:.1f} creates/s)"


KILLS, AT_ONCE, KEPT = 100, 4, 8


def a_gateway_killed_while_it_creates_leaves_nothing_behind(world):
    """After every tenth kill the engine's containers have to be those of the sessions that clients know."""
    times = int(os.environ.get("TESTUDO_TEST_KILLS", KILLS))
    places = world.docker_places("orphan", per_owner=1000, total=1000, creates_per_second=1000,
                                 idle=20, remember=0, unstarted=4)
    survivor, ledger, over, one_at_a_time = world.serve(places), [], threading.Event(), threading.Lock()
    wrong = []

    def attend():
        """Sessions that clients know are used, so they stay."""
        try:
            while not over.wait(1):
                with one_at_a_time, ThreadPoolExecutor(KEPT) as pool:
                    list(pool.map(lambda client: client.text("true"), list(ledger)))
        except Exception as error:
            wrong.append(error)

    def begin(client):
        try:
            client.begin()
        except (ConnectionError, Refused):
            return False
        client.address = survivor.address
        ledger.append(client)
        return True

    def is_true():
        return set(world.place_ids().values()) == {client.place() for client in ledger}

    attending = threading.Thread(target=attend, daemon=True)
    attending.start()
    started = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert all(pool.map(lambda _: begin(Http(survivor.address)), range(AT_ONCE)))
    usual = time.monotonic() - started
    generator, finished, known, seen = random.Random(19), 0, set(), set()
    for number in range(1, times + 1):
        gateway = world.serve(places)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            begun = [pool.submit(begin, Http(gateway.address, timeout=60)) for _ in range(AT_ONCE)]
            time.sleep(generator.uniform(0, 1.5 * usual))
            gateway.kill()
        finished += sum(one.result() for one in begun)
        known |= {client.place() for client in ledger}
        seen |= set(world.place_ids().values())
        with one_at_a_time:
            while len(ledger) > KEPT:
                ledger.pop(0).end()
        if number % 10 == 0 or number == times:
            until("the engine's containers to be those of the ledger", is_true, timeout=120)
    over.set()
    attending.join()
    assert not wrong, wrong[0]
    assert all(client.text("echo here") == "here" for client in ledger)
    survivors = len(ledger)
    for client in ledger:
        client.end()
    assert world.containers() == []
    return (f"{times} kills with {AT_ONCE} creates each: {finished} had finished, {len(seen - known)} containers had no client and "
            f"were removed; {survivors} sessions of the ledger live")


def a_call_outlives_its_gateway(world):
    """In a container, which the second gateway has never seen before."""
    shared = world.directory / "outlives"
    shared.mkdir()
    places = world.docker_places("outlives", extra=f'mounts = ["{shared}:/shared"]\nworkdir = "/shared"', per_owner=10, creates_per_second=100)
    one, two = world.serve(places), world.serve(places)
    client, call, broken = Http(one.address).begin(), new_id(), []
    command = "echo run >> /shared/runs; until test -e /shared/go; do sleep 0.1; done; seq 2000; exit 5"

    def send():
        try:
            broken.append(client.call(command, call_id=call))
        except ConnectionError as error:
            broken.append(error)

    calling = threading.Thread(target=send)
    calling.start()
    until("the command", (shared / "runs").exists)
    one.kill()
    calling.join()
    assert isinstance(broken[0], ConnectionError), broken
    client.address = two.address
    repeated = threading.Thread(target=send)
    repeated.start()
    (shared / "go").touch()
    repeated.join()
    result = broken[1]
    text = result["content"][0]["text"]
    assert text.startswith("exit_code: 5") and "\n2000" in text, text[:300]
    assert result["_meta"]["testudo/outcome"] == "finished"
    assert (shared / "runs").read_text() == "run\n", "it ran once"
    client.end()


def a_rolling_restart_loses_no_call(world):
    places = world.docker_places("rolling", per_owner=50, creates_per_second=100, drain=60)
    gateways = [world.serve(places), world.serve(places)]
    stop, failures, calls = threading.Event(), [], []

    def work(number, client):
        count = 0
        while not stop.is_set():
            count += 1
            call = new_id()
            for attempt in range(40):
                client.address = gateways[(number + attempt) % 2].address
                try:
                    result = client.call(f"echo {count} >> $TMPDIR/ledger; echo {count}", call_id=call)
                    break
                except ConnectionError:
                    time.sleep(0.1)
            else:
                return failures.append("no gateway")
            if result.get("isError") or stdout(result) != str(count):
                return failures.append(result)
        # The gateway that was asked last may have ended since, with its connections.
        client.address, client.connected_to = gateways[number % 2].address, None
        ran = client.text("cat $TMPDIR/ledger").split()
        if ran != [str(one) for one in range(1, count + 1)]:
            failures.append(f"ran {ran}")
        calls.append(count)

    clients = [Http(gateways[number % 2].address).begin() for number in range(6)]
    workers = [threading.Thread(target=work, args=(number, client)) for number, client in enumerate(clients)]
    [worker.start() for worker in workers]
    for round_number in range(6):
        time.sleep(1.5)
        old, gateways[round_number % 2] = gateways[round_number % 2], world.serve(places)
        assert old.terminate() == 0
    stop.set()
    [worker.join() for worker in workers]
    assert not failures, failures[0]
    assert len(calls) == len(workers), "a worker has given up"
    return f"6 restarts under load, {sum(calls)} calls, each ran exactly once"


TESTS = [each_session_has_its_own_container_through_either_gateway,
         a_client_without_sessions_keeps_its_place_and_hears_of_its_end, a_call_outlives_its_gateway, of_200_creates_at_once_50_are_made,
         a_rolling_restart_loses_no_call, a_gateway_killed_while_it_creates_leaves_nothing_behind]
