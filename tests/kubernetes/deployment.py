"""The files of deploy/kubernetes as they run: two gateways in the cluster, which reach pods by their address."""
import collections
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

import manifests
import serve

ACCOUNT = "testudo-gateway"


class Forwarded(serve.Http):
    """One gateway in the cluster, at a port of this machine. Only the test goes through the API server."""

    def __init__(self, namespace, pod):
        self.pod = pod
        words = ["kubectl", "port-forward", "-n", namespace, f"pod/{pod}", ":8741"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"127\.0\.0\.1:\d+", self.process.stdout.readline())[0]


def run(options, namespace, check, kubectl):
    with tempfile.TemporaryDirectory() as directory:
        tokens = os.path.join(directory, "tokens")
        with open(tokens, "w") as file:
            file.write("alice alice-token\nbob bob-token\n")
        kubectl("create", "secret", "generic", "testudo-gateway", "-n", namespace, f"--from-file=tokens={tokens}",
                f"--from-literal=key={os.urandom(32).hex()}")
    for name in ["pod-template.yaml", "gateway.yaml"]:
        manifests.apply(options, namespace, kubectl, name)
    kubectl("rollout", "status", "-n", namespace, "deployment/testudo-gateway", "--timeout=120s")
    found = json.loads(kubectl("get", "pods", "-n", namespace, "-l", "app=testudo-gateway", "-o", "json"))["items"]
    nodes = sorted(pod["spec"]["nodeName"] for pod in found)
    check("both gateways of the Deployment are ready", len(found) == 2, f"on {nodes}")
    one, two = (Forwarded(namespace, pod["metadata"]["name"]) for pod in found)
    try:
        by_address(namespace, check, kubectl, one, two)
        rights(namespace, check)
        kill = lambda: kubectl("delete", "pod", "-n", namespace, "--force", "--grace-period=0", one.pod)
        session = serve.one_run(one, two, kill, check, "a gateway's pod is deleted in mid-command, and the other has the result")
        check("the other gateway ends that place", two.end(session) < 300)
    finally:
        for gateway in (one, two):
            gateway.process.terminate()
            gateway.process.wait()
    kubectl("delete", "deployment,service,poddisruptionbudget", "testudo-gateway", "-n", namespace)


def by_address(namespace, check, kubectl, one, two):
    """Sessions that begin at one gateway and go on at the other."""
    def work(number):
        first, second = (one, two) if number % 2 else (two, one)
        mine = f"session-{number}"
        session = first.begin()
        first.bash(session, f"export MINE={mine}; cd $(mktemp -d); echo {mine} > name")
        answers = [gateway.bash(session, "echo $MINE $(cat name)") for gateway in (second, first) for _ in range(5)]
        wrong = sum(answer["content"][0]["text"] != f"exit_code: 0\n\nstdout:\n{mine} {mine}\n" for answer in answers)
        return session, wrong
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(work, range(12)))
    check("12 sessions that change between both gateways are not mixed up", all(wrong == 0 for _, wrong in done))
    found = json.loads(kubectl("get", "pods", "-n", namespace, "-l", "testudo.place", "-o", "json"))["items"]
    check("each has a pod", len(found) == 12, str(dict(collections.Counter(pod["spec"]["nodeName"] for pod in found))))
    session, times = done[0][0], []
    for _ in range(100):
        begin = time.monotonic()
        one.bash(session, "true")
        times.append((time.monotonic() - begin) * 1000)
    print(f"     round trip of `true` through a gateway in the cluster: p50 {statistics.median(times):.1f} ms, "
          f"p95 {sorted(times)[95]:.1f} ms")
    two.token = "bob-token"
    answer, _ = two.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, session)
    two.token = "alice-token"
    check("a session of somebody else is not found", answer.status == 404, str(answer.status))
    check("both gateways end sessions", all(gateway.end(session) < 300 for gateway, (session, _) in zip([one, two] * 6, done)))


def rights(namespace, check):
    """What the account of the gateways may do, and what it may not."""
    def may(verb, what):
        words = ["kubectl", "-n", namespace, "auth", "can-i", verb, *what.split(), f"--as=system:serviceaccount:{namespace}:{ACCOUNT}"]
        return subprocess.run(words, capture_output=True).returncode == 0
    needed = [("create", "pods"), ("delete", "pods"), ("list", "pods"), ("get", "podtemplates")]
    refused = [("create", "pods --subresource=exec"), ("create", "pods --subresource=portforward"), ("get", "pods --subresource=log"),
               ("get", "secrets"), ("list", "secrets"), ("patch", "pods"), ("update", "pods"), ("create", "deployments.apps"),
               ("list", "nodes"), ("list", "pods -A")]
    check("the gateways have the rights that they need", all(may(*right) for right in needed))
    too_much = [right for right in refused if may(*right)]
    check("and no others, so that places were reached by their address", not too_much, str(too_much or ""))
