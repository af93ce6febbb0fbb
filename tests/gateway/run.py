"""Runs the gateway with real engines: tests/gateway/run.py GATEWAY TESTUDO DATA [NAME...] | --numbers [PART...] | --soak MINUTES"""
import pathlib, signal, sys, time, traceback

import containers_limits, containers_many, containers_one, containers_silent, deploy, load, measure, podman, soak, ssh_hosts, url_hosts
from hosts import Hosts
from world import World


def main():
    # What was started ends with the script, also when somebody ends the script.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    gateway, testudo, data, *wanted = words
    world = World(pathlib.Path(gateway).resolve(), pathlib.Path(testudo).resolve(), pathlib.Path(data).resolve())
    failed = []
    try:
        world.hosts = Hosts(world.directory, ["a", "b"])
        try:
            tests = [test for part in (containers_one, containers_silent, podman, deploy, ssh_hosts, url_hosts, containers_limits, containers_many, load) for test in part.TESTS]
            if "--numbers" in sys.argv:
                measure.measure(world, wanted)
                tests = []
            if "--soak" in sys.argv:
                print("\n".join(soak.soak(world, float(wanted[0]))), flush=True)
                tests = []
            for test in tests:
                if wanted and not any(word in test.__name__ for word in wanted):
                    continue
                begin = time.monotonic()
                try:
                    note = test(world)
                    print(f"ok      {test.__name__} ({time.monotonic() - begin:.1f} s)" + (f": {note}" if note else ""), flush=True)
                except Exception:
                    failed.append(test.__name__)
                    print(f"FAILED  {test.__name__}\n{traceback.format_exc()}", flush=True)
                    for program in world.started:
                        print("".join(getattr(program, "log", [])[-20:]))
                world.clean()
        finally:
            world.hosts.end()
    finally:
        world.end()
    if not {"--numbers", "--soak"} & set(sys.argv):
        print(f"{len(failed)} failed: {failed}" if failed else "all passed")
    sys.exit(bool(failed))


main()
