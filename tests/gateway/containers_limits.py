"""What an owner may have, containers that wait for one, and places that nobody uses."""
import time
from concurrent.futures import ThreadPoolExecutor
from mcp import Http, Refused, until


def warm(world):
    return [name for name in world.containers("--filter", "status=running") if ".warm." in name]


def refusal(work):
    try:
        work()
    except Refused as refused:
        return refused
    raise AssertionError("it was not refused")


def waiting_containers_are_taken_once_and_made_again(world):
    places = world.docker_places("warm", extra="warm = 3", per_owner=10, creates_per_second=100)
    gateways = [world.serve(places), world.serve(places)]
    until("three waiting containers", lambda: len(warm(world)) >= 3)
    with ThreadPoolExecutor(6) as pool:
        clients = list(pool.map(lambda number: Http(gateways[number % 2].address).begin(), range(6)))
    for number, client in enumerate(clients):
        client.text(f"export NUMBER={number}")
    assert [client.text("echo $NUMBER") for client in clients] == [str(one) for one in range(6)]
    assert len({client.place() for client in clients}) == 6, "no container was given twice"
    # A container keeps the label with which it was made when it gets an owner and another name.
    taken = [name for name in world.containers("--filter", "label=testudo.owner=warm") if ".warm." not in name]
    assert len(taken) >= 3, f"waiting containers were used: {taken}"
    until("new waiting ones", lambda: len(warm(world)) >= 3)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda client: client.end(), clients))
    until("only waiting ones to be left", lambda: all(".warm." in name for name in world.containers()))


def a_place_that_nobody_uses_ends_and_its_client_is_told(world):
    places = world.docker_places("idle", per_owner=10, creates_per_second=100, idle=4, remember=3600)
    gateway = world.serve(places)
    unused, used = Http(gateway.address).begin(), Http(gateway.address).begin()
    unused.text("true")
    begin = time.monotonic()
    while world.containers("--filter", "status=exited") == []:
        assert used.text("echo here") == "here"
        assert time.monotonic() - begin < 60, "the unused place does not end"
        time.sleep(0.5)
    took = time.monotonic() - begin
    assert used.text("echo here") == "here", "a place that is used stays"
    answer = unused.call("true")
    assert answer["isError"] and "is gone" in answer["content"][0]["text"], answer
    assert answer["_meta"]["testudo/outcome"] == "lost", answer
    assert used.text("sleep 8; echo slept", timeout=60_000) == "slept", "a long command is use"
    used.end()
    return f"with idle = 4 it ended after {took:.0f} s; a command of 8 s went on"


def an_owner_gets_as_many_as_one_may_have(world):
    places = world.docker_places("quota", per_owner=2, total=3, creates_per_second=100)
    one, two = world.serve(places), world.serve(places)
    alice = [Http(one.address).begin(), Http(two.address).begin()]
    for gateway in (one, two):
        # Until a gateway has counted what the other made, it makes a place, sees that it is one too many, and removes it.
        def counted():
            refused = refusal(lambda: Http(gateway.address).begin())
            assert refused.status == 429 and int(refused.headers["retry-after"]) > 0, refused
            return "one owner" in refused.body

        until("the gateway to have counted", counted)
    bob = Http(two.address, token="bob-token").begin()
    refused = refusal(lambda: Http(one.address, token="bob-token").begin())
    assert refused.status == 429, refused
    alice[0].end()
    third = Http(one.address, token="bob-token").begin()
    assert third.text("echo fine") == "fine", "a place that ends is free for others"
    assert len(world.containers()) == 3
    for session in (alice[1].session, bob.session):
        other = Http(one.address, token="alice-token" if session == bob.session else "bob-token")
        other.session = session
        assert refusal(lambda: other.text("true")).status == 404, "another owner's session"


def more_creates_a_second_than_allowed_are_refused(world):
    gateway = world.serve(world.docker_places("rate", per_owner=50, total=50, creates_per_second=2))
    made, refused = [], []

    def create(_):
        try:
            made.append(Http(gateway.address).begin())
        except Refused as error:
            refused.append(error)

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(create, range(10)))
    assert made and refused and all(one.status == 429 and "a second" in one.body for one in refused), refused
    assert len(world.containers()) == len(made)
    until("the rate to allow one more", lambda: create(0) or len(made) > 2)


def a_client_that_leaves_while_its_place_is_made_leaves_nothing(world):
    """With the usual limits a forgotten container would stay for half an hour and count against its owner."""
    gateway = world.serve(world.docker_places("leaves", per_owner=50, creates_per_second=100))
    for number in range(10):
        client = Http(gateway.address, timeout=0.05 + number / 10)
        try:
            client.begin()
            client.end()
        except ConnectionError:
            pass
    # The first look may come before the last container does.
    for _ in range(3):
        until("the containers to go", lambda: world.containers() == [])
        time.sleep(1)
    assert Http(gateway.address).begin().text("echo fine") == "fine"


TESTS = [a_client_that_leaves_while_its_place_is_made_leaves_nothing, waiting_containers_are_taken_once_and_made_again, a_place_that_nobody_uses_ends_and_its_client_is_told,
         an_owner_gets_as_many_as_one_may_have, more_creates_a_second_than_allowed_are_refused]
