"""Places that live and say nothing: whatever else is wrong, no call of theirs is lost."""
import os, signal, threading
from mcp import Http, new_id, stdout, until


class Call:
    """A call in a container, which goes on until the test lets it end."""

    def __init__(self, world, name):
        self.shared = world.directory / f"shared-{name}"
        self.shared.mkdir()
        places = world.docker_places(name, extra=f'mounts = ["{self.shared}:/shared"]\nworkdir = "/shared"', patience=2, creates_per_second=100)
        self.client, self.id, self.answers = Http(world.serve(places).address).begin(), new_id(), []
        self.container = next(name for name, place in world.place_ids().items() if place == self.client.place())
        self.server = int(world.engine.docker("inspect", "--format", "{{.State.Pid}}", self.container).stdout)
        self.calling = threading.Thread(target=lambda: self.answers.append(self.send()))
        self.calling.start()
        until("the command", (self.shared / "runs").exists)

    def send(self):
        command = "echo run >> /shared/runs; until test -e /shared/go; do sleep 0.1; done; echo whole"
        return self.client.call(command, call_id=self.id)

    def outcome(self):
        """What the client hears of the call, and why."""
        self.calling.join()
        return self.answers[0]["_meta"]["testudo/outcome"], self.answers[0]["content"][0]["text"]

    def end(self):
        """The result is there, and the command ran once."""
        (self.shared / "go").touch()
        result = self.send()
        assert stdout(result) == "whole" and result["_meta"]["testudo/outcome"] == "finished", result
        assert (self.shared / "runs").read_text() == "run\n", "it ran once"
        self.client.end()


def a_server_that_stands_still_in_a_running_container_is_not_lost(world):
    call = Call(world, "still")
    os.kill(call.server, signal.SIGSTOP)
    outcome, text = call.outcome()
    assert outcome == "running" and "nothing has come from it for" in text, text
    os.kill(call.server, signal.SIGCONT)
    call.end()
    assert world.containers() == []


def an_engine_that_does_not_answer_makes_nothing_lost(world):
    call = Call(world, "engine")
    os.kill(world.engine.daemon.pid, signal.SIGSTOP)
    try:
        os.kill(call.server, signal.SIGSTOP)
        outcome, text = call.outcome()
    finally:
        os.kill(world.engine.daemon.pid, signal.SIGCONT)
    assert outcome == "running" and world.engine.host in text, text
    os.kill(call.server, signal.SIGCONT)
    call.end()
    assert world.containers() == []


def a_container_with_another_name_is_still_the_place(world):
    call = Call(world, "renamed")
    world.engine.docker("rename", call.container, "mine")
    os.kill(call.server, signal.SIGSTOP)
    outcome, text = call.outcome()
    assert outcome == "running", text
    os.kill(call.server, signal.SIGCONT)
    call.end()
    assert world.containers() == [], "it is removed under its new name too"


TESTS = [a_server_that_stands_still_in_a_running_container_is_not_lost, an_engine_that_does_not_answer_makes_nothing_lost,
         a_container_with_another_name_is_still_the_place]
