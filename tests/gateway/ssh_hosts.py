"""Work on other hosts, over the person's own ssh."""
import os, pathlib, signal, subprocess, time
from mcp import Http, new_id, stdout, until


def place(world, name):
    return world.one(f"ssh:{name}:{world.hosts.home(name)}/project", f"--ssh-option=-F{world.hosts.config}", cwd="/")


def copies(world, name):
    folder = world.hosts.home(name) / ".cache/testudo/bin"
    return {entry.name: entry.stat().st_mtime_ns for entry in folder.iterdir()} if folder.exists() else {}


def the_binary_is_copied_once_and_the_place_ends_with_its_client(world):
    client = place(world, "a")
    assert client.text("pwd").endswith("home-a/project")
    client.text("echo there > file")
    client.end()
    first = copies(world, "a")
    assert len(first) == 1 and (world.hosts.home("a") / "project/file").read_text() == "there\n"
    client = place(world, "a")
    client.end()
    assert copies(world, "a") == first, "copied once"
    program = world.hosts.home("a") / ".cache/testudo/bin" / next(iter(first))
    program.write_bytes(b"damaged")
    client = place(world, "a")
    assert client.text("echo fine") == "fine", "a damaged copy is replaced"
    client.end()
    assert list((world.hosts.home("a") / ".cache/testudo/places").iterdir()) == []


def a_link_that_is_cut_for_20_s_loses_nothing(world):
    a, b = place(world, "a"), place(world, "b")
    project = world.hosts.home("b") / "project"
    number = b.begin_call("echo run >> runs; for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 1; done; exit 5", timeout=300_000)
    until("the command", lambda: (project / "runs").exists())
    world.hosts.cut("b")
    begin = time.monotonic()
    assert a.text("echo fine") == "fine", "the other host is not affected"
    while time.monotonic() - begin < 20:
        time.sleep(0.5)
    world.hosts.heal("b")
    healed = time.monotonic()
    result = b.wait(number)["result"]
    took = time.monotonic() - healed
    text = result["content"][0]["text"]
    assert all(f"line {one}" in text for one in range(1, 9)) and "exit_code: 5" in text, text
    assert result["_meta"]["testudo/outcome"] == "finished"
    assert (project / "runs").read_text() == "run\n", "it ran once"
    assert b.text("echo again") == "again"
    a.end(), b.end()
    return f"the whole output and exit code 5 came {took:.1f} s after the link healed; one execution"


def a_cut_that_outlasts_the_patience_is_said_and_the_record_remains(world):
    places = world.places("far", f'[[place]]\nname = "far"\nplace = "ssh:b:{world.hosts.home("b")}/project"\n'
                          f'ssh_options = ["-F{world.hosts.config}"]\n', patience=3)
    gateway = world.serve(places)
    client, call = Http(gateway.address).begin(), new_id()
    project = world.hosts.home("b") / "project"
    command = "echo run >> long; sleep 3; echo whole"
    import threading
    answers = []
    calling = threading.Thread(target=lambda: answers.append(client.call(command, call_id=call)))
    calling.start()
    until("the command", lambda: (project / "long").exists())
    world.hosts.cut("b")
    calling.join()
    assert answers[0]["isError"] and answers[0]["_meta"]["testudo/outcome"] == "running", answers
    assert "does not answer" in answers[0]["content"][0]["text"], answers
    world.hosts.heal("b")

    def repeated():
        result = client.call(command, call_id=call)
        return result if not result.get("isError") else None

    until("the record", lambda: answers.append(repeated()) or answers[-1])
    assert stdout(answers[-1]) == "whole"
    assert (project / "long").read_text() == "run\n"
    client.end()


def a_place_that_is_cut_off_ends_itself_after_its_lease(world):
    """Nobody can reach it, so nobody else can end it."""
    project = world.hosts.home("b") / "project"
    client = world.one(f"ssh:b:{project}", f"--ssh-option=-F{world.hosts.config}", "--lease", "4", "--patience", "60", cwd="/")
    [folder] = (world.hosts.home("b") / ".cache/testudo/places").iterdir()
    server = int((folder / "pid").read_text())
    nap = f"600.{os.getpid()}"  # Known by its words: its number is that of a namespace of its own.
    client.text(f"sleep {nap} & echo begun")
    assert runs("sleep", nap)
    world.hosts.cut("b")
    try:
        until("the place to end", lambda: not alive(server) and not runs("sleep", nap))
    finally:
        world.hosts.heal("b")
    answer = client.call("true")
    text = answer["content"][0]["text"]
    assert answer["_meta"]["testudo/outcome"] == "lost" and "its server on b has ended" in text, answer
    client.end()
    assert list((world.hosts.home("b") / ".cache/testudo/places").iterdir()) == []


def runs(*words):
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    return " ".join(words) in found.splitlines()


def alive(pid):
    """Of a process in a network of its own; processes are those of this machine."""
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def a_killed_connection_is_made_again(world):
    client = place(world, "a")
    client.text("export KEPT=yes")
    masters = [int(line.split()[0]) for line in subprocess.run(
        ["ps", "-o", "pid,args", "--ppid", str(client.process.pid)], capture_output=True, text=True).stdout.splitlines()
        if "-M" in line.split()]
    assert len(masters) == 1, masters
    os.kill(masters[0], signal.SIGKILL)
    assert client.text("echo $KEPT") == "yes"
    client.end()


TESTS = [the_binary_is_copied_once_and_the_place_ends_with_its_client, a_killed_connection_is_made_again,
         a_place_that_is_cut_off_ends_itself_after_its_lease,
         a_link_that_is_cut_for_20_s_loses_nothing, a_cut_that_outlasts_the_patience_is_said_and_the_record_remains]
