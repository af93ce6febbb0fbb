"""Places of a SandboxWarmPool: claims as far as the cluster has agent-sandbox, and its pods where a controller hands them out."""
import json
import subprocess
import time

import manifests

TOKEN = "pool-token"


def run(options, namespace, check, kubectl, client):
    kinds = kubectl("api-resources", "--api-group=extensions.agents.x-k8s.io", "-o", "name", fine=False)
    if "sandboxclaims" not in kinds:
        print("NOT RUN: the cluster has no agent-sandbox, so no claim was made")
        return
    for name in ["warm-pool.yaml", "pod-template.yaml", "network-policy.yaml", "gateway.yaml"]:
        kubectl("apply", "-n", namespace, "--dry-run=server", "-f", f"deploy/kubernetes/{name}")
        check(f"the cluster accepts {name}", True)
    kubectl("create", "secret", "generic", "testudo-pool", "-n", namespace, f"--from-literal=token={TOKEN}")
    manifests.apply(options, namespace, kubectl, "warm-pool.yaml")
    found = lambda kind: json.loads(kubectl("get", kind, "-n", namespace, "-o", "json"))["items"]
    if until(lambda: found("sandboxes"), 15):
        with_controller(namespace, check, kubectl, client, found)
    else:
        print("NOT RUN: no controller answers claims here")
        without_controller(options, namespace, check, found)
    wrong = {"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
             "metadata": {"name": "wrong", "namespace": namespace}, "spec": {"warmPoolRef": "testudo-warm"}}
    done = subprocess.run(["kubectl", "apply", "-f", "-"], input=json.dumps(wrong), capture_output=True, text=True)
    check("the schema refuses a wrong claim", done.returncode != 0)
    kubectl("delete", "sandboxwarmpools,sandboxclaims", "--all", "-n", namespace)


def without_controller(options, namespace, check, found):
    words = [options.gateway, "--place", f"kubernetes:{namespace}/testudo-warm", "--token", TOKEN]
    gateway = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        claims = until(lambda: found("sandboxclaims"), 10)
        check("a place is a claim on the pool", len(claims) == 1 and claims[0]["spec"]["warmPoolRef"]["name"] == "testudo-warm")
    finally:
        gateway.terminate()
        gateway.wait()


def with_controller(namespace, check, kubectl, client, found):
    pool = lambda: found("sandboxwarmpools")[0]
    full = lambda: pool().get("status", {}).get("readyReplicas", 0) == pool()["spec"]["replicas"]
    check("the controller fills the pool", until(full, 120), f"{pool()['spec']['replicas']} pods")
    waiting = {sandbox["metadata"]["name"] for sandbox in found("sandboxes")}

    begin = time.monotonic()
    one = client("--token", TOKEN)
    one.begin()
    first = one.bash("echo $((40+2))")
    seconds = time.monotonic() - begin
    claims = found("sandboxclaims")
    given = claims[0].get("status", {}).get("sandbox", {}).get("name")
    check("a pod of the pool answers its first command", "42" in text(first), f"{seconds:.2f} s after the start")
    check("it is one that waited", len(claims) == 1 and given in waiting, given)
    one.bash("cd /; export A=b")
    check("its session keeps its state", text(one.bash("echo $A; pwd")) == "exit_code: 0\n\nstdout:\nb\n/\n")
    two = client("--token", TOKEN)
    two.begin()
    other = text(two.bash("hostname; echo [$A]"))
    check("a second session has another pod", given not in other and "[]" in other, repr(other))
    check("the pool is filled again", until(full, 120))
    check("both gateways end well", [one.end(), two.end()] == [0, 0])
    check("their claims are gone", until(lambda: not found("sandboxclaims"), 30))
    ours = lambda: given in {sandbox["metadata"]["name"] for sandbox in found("sandboxes")}
    check("the sandbox is gone with its claim", until(lambda: not ours(), 60))

    # The controller makes a new pod for the same sandbox, and its server has the same token.
    three = client("--token", TOKEN)
    three.begin()
    number = three.start("echo started; sleep 300", timeout=600000)
    while "sleep" not in text(three.bash("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")):
        time.sleep(0.2)
    given = found("sandboxclaims")[0]["status"]["sandbox"]["name"]
    pod = kubectl("get", "sandbox", "-n", namespace, given, "-o",
                  r"jsonpath={.metadata.annotations.agents\.x-k8s\.io/pod-name}") or given
    kubectl("delete", "pod", "-n", namespace, "--force", "--grace-period=0", pod)
    begin = time.monotonic()
    result = three.wait(number)["result"]
    lost = result["_meta"]["testudo/outcome"] == "lost" and result["isError"]
    check("a deleted pod of the pool is a lost call", lost, f"after {time.monotonic() - begin:.1f} s: {text(result)[:160]}")
    later = three.wait(three.start("echo $((40+2))"))
    said = later["error"]["message"] if "error" in later else text(later["result"])
    check("the pod in its stead is not taken for it", "42" not in said, repr(said[:160]))
    three.end()

    four = client("--token", TOKEN)
    four.begin()
    four.bash("true")
    name = next(claim["metadata"]["name"] for claim in found("sandboxclaims") if "deletionTimestamp" not in claim["metadata"])
    change = json.dumps({"spec": {"lifecycle": {"shutdownTime": "2020-01-01T00:00:00Z"}}})
    kubectl("patch", "sandboxclaim", name, "-n", namespace, "--type=merge", "-p", change)
    expired = lambda: any(one["reason"] == "ClaimExpired" for one in status(kubectl, namespace, name).get("conditions", []))
    check("the cluster ends a claim after its time", until(expired, 60))
    later = four.wait(four.start("echo $((40+2))"))
    said = later["error"]["message"] if "error" in later else text(later["result"])
    check("its client is told", "42" not in said and "expired" in said, repr(said[:160]))
    four.end()


def status(kubectl, namespace, name):
    return json.loads(kubectl("get", "sandboxclaim", name, "-n", namespace, "-o", "json")).get("status", {})


def text(result):
    return result["content"][0]["text"]


def until(seen, seconds):
    """What `seen` returns as soon as that is something, or after so many seconds."""
    end = time.monotonic() + seconds
    while not (value := seen()) and time.monotonic() < end:
        time.sleep(0.2)
    return value
