"""The gateway against a real cluster. Every check says what it saw; the last line counts them.

Objects are made in a namespace of their own, which is deleted at the end. kubectl is the only way in besides the gateway.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import deployment
import policies
import serve
import warm_pool

NAMESPACE = "testudo-test"
passed, failed = [], []


def check(name, good, seen=""):
    (passed if good else failed).append(name)
    print(f"{'ok  ' if good else 'FAIL'} {name} {seen}", flush=True)


def kubectl(*words, text=None, fine=True):
    done = subprocess.run(["kubectl", *words], input=text, capture_output=True, text=True)
    if fine and done.returncode:
        raise SystemExit(f"kubectl {' '.join(words)}: {done.stderr}")
    return done.stdout


def template(options):
    spec = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        # As root, testudo could not tell a forwarded port from a connection of its own commands, and would refuse it.
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "containers": [{"name": "work", "image": options.image, "imagePullPolicy": "IfNotPresent", "workingDir": "/work",
                        "env": [{"name": "HOME", "value": "/home/agent"}],
                        "volumeMounts": [{"name": "work", "mountPath": "/work"}, {"name": "home", "mountPath": "/home/agent"}]}],
        "volumes": [{"name": "work", "emptyDir": {}}, {"name": "home", "emptyDir": {}}],
    }
    if options.node_name:
        spec["nodeName"] = options.node_name
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "work", "namespace": NAMESPACE},
            "template": {"metadata": {"labels": {"app": "testudo-place"}}, "spec": spec}}


class Client:
    """A client on the stdin and stdout of a gateway."""

    def __init__(self, options, *more, place="work"):
        words = [options.gateway, "--place", f"kubernetes:{NAMESPACE}/{place}", "--program-image", options.program_image]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*words, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.next, self.answers, self.came = 0, {}, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                check("stdout has nothing but messages", False, repr(line))
                continue
            with self.came:
                if "method" not in message:
                    self.answers[message.get("id")] = message
                self.came.notify_all()
        with self.came:
            self.answers[None] = {}
            self.came.notify_all()

    def send(self, method, params):
        self.next += 1
        text = json.dumps({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.next

    def wait(self, number, seconds=180):
        with self.came:
            self.came.wait_for(lambda: number in self.answers or None in self.answers, seconds)
            if number in self.answers:
                return self.answers[number]
        self.log.seek(0)
        raise SystemExit(f"no answer from the gateway: {self.log.read()}")

    def begin(self):
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.wait(self.send("initialize", hello))
        if "error" in answer:
            raise SystemExit(f"no session: {answer['error']['message']}")
        return answer["result"]

    def start(self, command, **more):
        return self.send("tools/call", {"name": "bash", "arguments": {"command": command, **more}})

    def bash(self, command, **more):
        return self.wait(self.start(command, **more))["result"]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(60)


def text(result):
    return result["content"][0]["text"]


def pods():
    found = json.loads(kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def one_client(options):
    begin = time.monotonic()
    client = Client(options)
    welcome = client.begin()
    first = client.bash("echo $((40+2))")
    check("a pod answers its first command", "42" in text(first), f"{time.monotonic() - begin:.2f} s after the start")
    check("the agent is told where it is", "kubernetes:" in welcome["instructions"])
    level = [line for line in welcome["instructions"].splitlines() if line.startswith("Sandbox")]
    print("     inside:", *level)
    client.bash("cd /; export A=b")
    check("the session keeps its state", text(client.bash("echo $A; pwd")) == "exit_code: 0\n\nstdout:\nb\n/\n")
    check("an exit code is true", text(client.bash("exit 5")) == "exit_code: 5\n")
    times = []
    for _ in range(100):
        begin = time.monotonic()
        client.bash("true")
        times.append((time.monotonic() - begin) * 1000)
    times.sort()
    print(f"     round trip of `true` through port-forward: p50 {times[50]:.1f} ms, p95 {times[95]:.1f} ms")
    name = pods()[0]["metadata"]["name"]
    times = []
    for _ in range(20):
        begin = time.monotonic()
        kubectl("exec", "-n", NAMESPACE, name, "--", "true")
        times.append((time.monotonic() - begin) * 1000)
    print(f"     the same as one kubectl exec each: p50 {statistics.median(times):.0f} ms")
    big = client.bash("head -c 20000000 /dev/zero | tr '\\0' x | fold -w 99")
    check("20 MB of output are stored whole", "stored: " in text(big), text(big).splitlines()[1])
    check("the gateway ends well", client.end() == 0)
    check("its pod is gone", pods() == [])


def many(options):
    """Sessions at once, each with its own place."""
    def work(number):
        client = Client(options)
        client.begin()
        mine = f"session-{number}"
        client.bash(f"export MINE={mine}; cd $(mktemp -d); echo {mine} > name")
        wrong = sum(text(client.bash("echo $MINE $(cat name)")) != f"exit_code: 0\n\nstdout:\n{mine} {mine}\n" for _ in range(10))
        client.end()
        return wrong
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        wrong = sum(pool.map(work, range(options.sessions)))
    seconds = time.monotonic() - begin
    check(f"{options.sessions} sessions, {options.at_once} at once, are not mixed up", wrong == 0, f"{seconds:.0f} s")
    check("no pod is left", pods() == [])


def pod_deleted(options):
    client = Client(options)
    client.begin()
    number = client.start("echo started; sleep 300", timeout=600000)
    until_running(client)
    kubectl("delete", "pod", "-n", NAMESPACE, "--force", "--grace-period=0", pods()[0]["metadata"]["name"])
    begin = time.monotonic()
    result = client.wait(number)["result"]
    seen = f"after {time.monotonic() - begin:.1f} s: {text(result)[:120]}"
    check("a deleted pod is a lost call", result["_meta"]["testudo/outcome"] == "lost" and result["isError"], seen)
    client.end()


def until_running(client):
    while "sleep" not in text(client.bash("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")):
        time.sleep(0.2)


def node_agent(options):
    """The case in which `exec` was seen to report success with half of the output."""
    client = Client(options)
    client.begin()
    number = client.start("echo started; sleep 20; echo done; exit 5", timeout=600000)
    until_running(client)
    subprocess.run(options.kill_node_agent, shell=True, check=True)
    time.sleep(5)
    subprocess.run(options.start_node_agent, shell=True, check=True)
    result = client.wait(number, 300)["result"]
    good = text(result) == "exit_code: 5\n\nstdout:\nstarted\ndone\n" and result["_meta"]["testudo/outcome"] == "finished"
    check("the node agent dies in mid-command, and the result is whole", good, repr(text(result)[:160]))
    client.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--image", required=True)
    parser.add_argument("--program-image", required=True)
    parser.add_argument("--node-name")
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--kill-node-agent", help="a shell command that kills the kubelet")
    parser.add_argument("--start-node-agent", help="a shell command that starts it again")
    parser.add_argument("--outside", help="ADDRESS:PORT that listens outside of the cluster")
    options = parser.parse_args()
    options.gateway = os.path.abspath(options.gateway)
    print(kubectl("version", "-o", "json", fine=False).replace("\n", "")[:400])
    kubectl("create", "namespace", NAMESPACE, fine=False)
    try:
        kubectl("apply", "-f", "-", text=json.dumps(template(options)))
        one_client(options)
        pod_deleted(options)
        if options.kill_node_agent and options.start_node_agent:
            node_agent(options)
        else:
            print("NOT RUN: the death of a node agent (--kill-node-agent, --start-node-agent)")
        serve.run(options, NAMESPACE, check)
        many(options)
        warm_pool.run(options, NAMESPACE, check, kubectl, lambda *more: Client(options, *more, place="testudo-warm"))
        policies.run(options, NAMESPACE, check, kubectl)
        deployment.run(options, NAMESPACE, check, kubectl)
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--wait=false", fine=False)
        kubectl("delete", "pods,podtemplates", "--all", "-n", NAMESPACE, "--wait=false", fine=False)
    print(f"{len(passed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
