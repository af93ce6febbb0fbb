"""A server behind a URL on another host, and a link that is cut."""
import threading
from load import server, url_places
from mcp import Http, new_id, until

COMMAND = "echo run >> runs; until test -e go; do sleep 0.1; done; seq 3000; exit 5"


def far(world, name, **limits):
    """A client of a server on the host b, and the server's project."""
    project = world.directory / name
    address = server(world, project, world.hosts.inside("b"), world.hosts.address("b"))
    return Http(world.serve(url_places(world, name, [address], **limits)).address).begin(), project


def begin(client, project, call):
    answers = []
    calling = threading.Thread(target=lambda: answers.append(client.call(COMMAND, call_id=call)))
    calling.start()
    until("the command", (project / "runs").exists)
    return calling, answers


def whole(result):
    text = result["content"][0]["text"]
    return text.startswith("exit_code: 5") and "\n3000" in text and result["_meta"]["testudo/outcome"] == "finished"


def a_cut_link_to_a_url_loses_nothing(world):
    """The command ends while nobody can hear of it."""
    client, project = far(world, "cut")
    calling, answers = begin(client, project, new_id())
    world.hosts.cut("b")
    (project / "go").touch()
    calling.join(20)
    assert calling.is_alive(), "no answer can have come"
    world.hosts.heal("b")
    calling.join()
    assert whole(answers[0]), answers
    assert (project / "runs").read_text() == "run\n", "it ran once"
    client.end()


def a_url_that_stays_cut_off_is_never_lost(world):
    client, project = far(world, "far", patience=2)
    call = new_id()
    calling, answers = begin(client, project, call)
    world.hosts.cut("b")
    calling.join()
    world.hosts.heal("b")
    assert answers[0]["_meta"]["testudo/outcome"] == "running", answers
    assert "does not answer" in answers[0]["content"][0]["text"], answers
    (project / "go").touch()

    def repeated():
        answers.append(client.call(COMMAND, call_id=call))
        return whole(answers[-1])

    until("the record", repeated)
    assert (project / "runs").read_text() == "run\n", "it ran once"
    client.end()


TESTS = [a_cut_link_to_a_url_loses_nothing, a_url_that_stays_cut_off_is_never_lost]
