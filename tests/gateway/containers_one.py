"""One client, one container."""
import os, subprocess, time
from mcp import until
from world import EMPTY, MUSL, SHELL


def any_image_works_at_the_projects_own_path(world):
    project = world.directory / "project"
    project.mkdir(exist_ok=True)
    (project / "note").write_text("from outside\n")
    for image in (SHELL, MUSL):
        client = world.one(f"docker:{image}", "--network", "none", cwd=project)
        instructions = client.welcome["instructions"]
        assert f"docker:{image}" in instructions and "Sandbox: workspace-write, level" in instructions, instructions
        assert client.text("read line < note; echo \"$line $PWD\"").startswith(f"from outside {project}")
        client.text(f"echo inside > made-{image.split(':')[1]}")
        assert (project / f"made-{image.split(':')[1]}").read_text() == "inside\n"
        client.end()
    assert world.containers() == [], "containers end with their clients"


def an_image_without_a_shell_serves_files_and_says_what_it_lacks(world):
    project = world.directory / "project"
    project.mkdir(exist_ok=True)
    (project / "note").write_text("from outside\n")
    client = world.one(f"docker:{EMPTY}", "--network", "none", cwd=project)
    assert "from outside" in client.call(None, tool="view", path="note")["content"][0]["text"]
    refused = client.call("true")
    assert refused["isError"] and "/bin/sh" in refused["content"][0]["text"], refused
    client.end()


def files_belong_to_the_person(world):
    project = world.directory / "owned"
    project.mkdir()
    os.chown(project, 1234, 1234)
    client = world.one(f"docker:{SHELL}", "--network", "none", cwd=project)
    client.text("echo mine > file")
    assert (project / "file").stat().st_uid == 1234
    client.end()


def a_container_that_is_killed_is_noticed_and_named(world):
    project = world.directory / "project"
    project.mkdir(exist_ok=True)
    client = world.one(f"docker:{SHELL}", "--network", "none", cwd=project)
    number = client.begin_call("echo begun > begun; sleep 300; echo done", timeout=300_000)
    until("the command", lambda: (project / "begun").exists())
    world.engine.docker("kill", *world.containers())
    begin = time.monotonic()
    result = client.wait(number)["result"]
    took = time.monotonic() - begin
    text = result["content"][0]["text"]
    assert result["isError"] and result["_meta"]["testudo/outcome"] == "lost", result
    assert "is gone" in text and "Exited (137)" in text and "Lost with it" in text, text
    assert took < 5, f"noticed after {took:.1f} s"
    assert client.call("true")["isError"], "it is not replaced"
    client.end()
    (project / "begun").unlink()
    return f"noticed after {took * 1000:.0f} ms"


def what_a_killed_gateway_left_is_removed_by_a_later_one(world):
    project = world.directory / "project"
    project.mkdir(exist_ok=True)
    options = ("--network", "none", "--lease", "3")
    killed = world.one(f"docker:{SHELL}", *options, cwd=project)
    killed.text("true")
    [left] = world.containers()
    made = time.time()
    killed.process.kill()
    until("the server to end itself", lambda: world.containers("--filter", "status=exited") == [left])
    # A younger one may be another gateway's. The engine counts in whole seconds.
    until("the container to be older than its lease", lambda: time.time() > made + 3 + 2)
    later = world.one(f"docker:{SHELL}", *options, cwd=project)
    until("the container to go", lambda: left not in world.containers())
    assert later.text("echo fine") == "fine"
    later.end()
    assert world.containers() == []


def a_gateway_that_is_asked_to_end_while_it_makes_its_place_leaves_nothing(world):
    command = [world.gateway_program, "--place", f"docker:{SHELL}", "--testudo", world.testudo, "--network", "none", "--no-project"]
    for pause in (0, 0.1, 0.2, 0.4):
        gateway = subprocess.Popen(command, env=world.environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        time.sleep(pause)  # Whatever it does at that moment.
        gateway.terminate()
        gateway.wait(60)
    assert world.containers() == []


def a_frozen_container_does_not_hang_the_client(world):
    """It is there, so the call is `running`, and its result comes when the container goes on."""
    project = world.directory / "project"
    project.mkdir(exist_ok=True)
    client = world.one(f"docker:{SHELL}", "--network", "none", "--patience", "3", cwd=project)
    name = world.containers()[0]
    number = client.begin_call("echo begun > frozen; sleep 1; echo run >> runs; echo whole", timeout=300_000)
    until("the command", lambda: (project / "frozen").exists())
    world.engine.docker("pause", name)
    result = client.wait(number)["result"]
    assert result["isError"] and result["_meta"]["testudo/outcome"] == "running", result
    assert "its container is paused" in result["content"][0]["text"], result
    world.engine.docker("unpause", name)
    until("the command to go on", lambda: (project / "runs").exists())
    assert client.text("cat runs") == "run"
    client.end()


def doctor_says_what_is_there(world):
    command = [world.gateway_program, "doctor", "--place", f"docker:{SHELL}", "--testudo", world.testudo, "--network", "none"]
    found = subprocess.run(command, env=world.environment(), capture_output=True, text=True, cwd=world.directory)
    assert found.returncode == 0 and "Sandbox: workspace-write, level" in found.stdout, (found.stdout, found.stderr)
    command[3] = f"docker:{EMPTY}"
    found = subprocess.run(command, env=world.environment(), capture_output=True, text=True, cwd=world.directory)
    assert found.returncode == 1 and "fault" in found.stdout, (found.stdout, found.stderr)
    command[3] = "docker:gateway:missing"
    found = subprocess.run(command, env=world.environment(), capture_output=True, text=True, cwd=world.directory)
    assert found.returncode == 1 and "gateway:missing" in found.stderr, (found.stdout, found.stderr)
    assert world.containers() == []


TESTS = [any_image_works_at_the_projects_own_path, an_image_without_a_shell_serves_files_and_says_what_it_lacks,
         files_belong_to_the_person, a_container_that_is_killed_is_noticed_and_named,
         what_a_killed_gateway_left_is_removed_by_a_later_one,
         a_gateway_that_is_asked_to_end_while_it_makes_its_place_leaves_nothing,
         a_frozen_container_does_not_hang_the_client, doctor_says_what_is_there]
