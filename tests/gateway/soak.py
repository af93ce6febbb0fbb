"""Mixed load through one gateway for minutes: what it holds must not grow, and no call may run twice."""
import os, random, threading, time
from load import servers, url_places
from mcp import Http, Refused, new_id, stdout
from world import SHELL

CALLS = 20


def figures(process):
    """Memory of a process in MiB, and its descriptors."""
    status = open(f"/proc/{process.pid}/status").read()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024, len(os.listdir(f"/proc/{process.pid}/fd"))


class Soak:
    def __init__(self, world, minutes):
        self.world, self.until = world, time.monotonic() + 60 * minutes
        entries = open(url_places(world, "urls", servers(world, 2))).read().split("[[place]]")[1]
        docker = f'[[place]]\nname = "own"\nplace = "docker:{SHELL}"\nengine = "{world.engine.host}"\nnetwork = "none"\n'
        places = world.places("soak", f"[[place]]{entries}{docker}", creates_per_second=100, remember=5)
        self.gateway = world.serve(places)
        self.sessions, self.calls, self.lost, self.failures = 0, 0, 0, []

    def session(self, path, generator):
        client = Http(self.gateway.address, path=path).begin()
        name = new_id()
        client.text(f"mkdir -p {name} 2>/dev/null && cd {name} || cd $TMPDIR")
        for number in range(CALLS):
            kind = generator.choice(["short", "short", "long output", "fails", "repeated", "leaves"])
            command = {"short": "true", "long output": "head -c 300000 /dev/zero | tr '\\0' 'x'", "fails": "false"}.get(kind, "true")
            call = new_id()
            result = client.call(f"echo {number} >> ledger; {command}", call_id=call)
            if kind == "repeated":
                result = client.call(f"echo {number} >> ledger; {command}", call_id=call)
            if kind == "leaves":  # Clients go without a word, too.
                client.connection, client.connected_to = None, None
            self.calls += 1
            if result.get("_meta", {}).get("testudo/outcome") == "lost":
                self.lost += 1
                return
        ran = client.call("cat ledger")
        if ran["_meta"]["testudo/outcome"] == "lost":
            self.lost += 1
            return
        if stdout(ran).split() != [str(one) for one in range(CALLS)]:
            self.failures.append(stdout(ran))
        if generator.random() < 0.9 or path.endswith("own"):
            client.end()
        self.sessions += 1

    def work(self, number):
        generator = random.Random(number)
        while time.monotonic() < self.until and not self.failures:
            try:
                self.session("/mcp/own" if number < 2 else "/mcp", generator)
            except (ConnectionError, Refused, AssertionError, KeyError) as error:
                # The container was killed while its session began or ended.
                if number >= 2 or "gone" not in str(error) and "404" not in str(error) and "50" not in str(error)[:3]:
                    self.failures.append(repr(error))

    def run(self):
        workers = [threading.Thread(target=self.work, args=(number,)) for number in range(6)]
        [worker.start() for worker in workers]
        generator, samples, begin, killed = random.Random(1), [], time.monotonic(), 0
        while time.monotonic() < self.until and not self.failures:
            time.sleep(15)
            samples.append((time.monotonic() - begin, *figures(self.gateway.process)))
            running = self.world.containers("--filter", "status=running")
            if running:
                self.world.engine.docker("kill", generator.choice(running), check=False)
                killed += 1
        [worker.join() for worker in workers]
        assert not self.failures, self.failures[0]
        rows = [f"soak: {self.sessions} sessions, {self.calls} calls, {killed} containers killed, {self.lost} calls lost with them, "
                "none ran twice"]
        for at in sorted({round(share * (len(samples) - 1) / 5) for share in range(6)}):
            seconds, memory, descriptors = samples[at]
            rows.append(f"  after {seconds / 60:4.1f} min: {memory:5.1f} MiB, {descriptors} descriptors")
        time.sleep(35)  # Idle connections are closed after 30 s.
        memory, descriptors = figures(self.gateway.process)
        return [*rows, f"  35 s after the last call: {memory:.1f} MiB, {descriptors} descriptors"]


def soak(world, minutes):
    return Soak(world, minutes).run()
