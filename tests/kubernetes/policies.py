"""What network-policy.yaml comes to in a cluster whose network enforces policies. Two plain pods stand for places."""
import json
import subprocess
import time

import manifests


def pod(options, name, app):
    spec = {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False,
            "containers": [{"name": "work", "image": options.image, "imagePullPolicy": "IfNotPresent",
                            "command": ["/.testudo/testudo", "--transport", "http", "--listen", "0.0.0.0:8731"],
                            "env": [{"name": "TESTUDO_TOKEN", "value": "t"}, {"name": "HOME", "value": "/tmp"}],
                            "securityContext": {"runAsUser": 1000},
                            "readinessProbe": {"httpGet": {"path": "/health", "port": 8731}, "periodSeconds": 1},
                            "volumeMounts": [{"name": "program", "mountPath": "/.testudo"}]}],
            "initContainers": [{"name": "program", "image": options.program_image, "imagePullPolicy": "IfNotPresent",
                                "command": ["/testudo-gateway", "put", "/.testudo"],
                                "volumeMounts": [{"name": "program", "mountPath": "/.testudo"}]}],
            "volumes": [{"name": "program", "emptyDir": {}}]}
    if options.node_name:
        spec["nodeName"] = options.node_name
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app, "probe": name}}, "spec": spec}


def run(options, namespace, check, kubectl):
    try:
        probe(options, namespace, check, kubectl)
    finally:
        kubectl("delete", "pods", "-n", namespace, "-l", "probe")


def probe(options, namespace, check, kubectl):
    pods = {"probe-place": "testudo-place", "probe-other-place": "testudo-place", "probe-gateway": "testudo-gateway",
            "probe-stranger": "stranger"}
    for name, app in pods.items():
        kubectl("apply", "-n", namespace, "-f", "-", text=json.dumps(pod(options, name, app)))
    kubectl("wait", "-n", namespace, "--for=condition=Ready", "--timeout=120s", *(f"pod/{name}" for name in pods))
    address = {name: kubectl("get", "pod", "-n", namespace, name, "-o", "jsonpath={.status.podIP}") for name in pods}
    api = kubectl("get", "endpointslices", "-n", "default", "-l", "kubernetes.io/service-name=kubernetes", "-o",
                  "jsonpath={.items[0].endpoints[0].addresses[0]} {.items[0].ports[0].port}").split()

    def reaches(name, host, port):
        script = f"timeout 3 bash -c '</dev/tcp/{host}/{port}'"
        words = ["kubectl", "exec", "-n", namespace, name, "-c", "work", "--", "bash", "-c", script]
        return subprocess.run(words, capture_output=True).returncode == 0

    allowed = {"a gateway reaches a place": ("probe-gateway", address["probe-place"], 8731)}
    if options.outside:
        allowed["a place reaches what is outside of the cluster"] = ("probe-place", *options.outside.rsplit(":", 1))
    refused = {"a place does not reach another place": ("probe-place", address["probe-other-place"], 8731),
               "a place does not reach a gateway": ("probe-place", address["probe-gateway"], 8731),
               "a place does not reach the API server": ("probe-place", *api),
               "a stranger does not reach a place": ("probe-stranger", address["probe-place"], 8731)}
    before = {name: reaches(*way) for name, way in {**allowed, **refused}.items()}
    check("without a policy all of these pods reach each other", all(before.values()), str([n for n in before if not before[n]] or ""))
    manifests.apply(options, namespace, kubectl, "network-policy.yaml")
    if not closed(lambda: reaches(*refused["a place does not reach another place"])):
        print("NOT RUN: the network of this cluster does not enforce policies")
        return
    for name, way in allowed.items():
        check(name, reaches(*way))
    for name, way in refused.items():
        check(name, not reaches(*way))
    late = pod(options, "probe-late", "testudo-place")
    kubectl("apply", "-n", namespace, "-f", "-", text=json.dumps(late))
    kubectl("wait", "-n", namespace, "--for=condition=Ready", "--timeout=60s", "pod/probe-late")
    check("the node's own probe reaches a place", True)


def closed(open_now, seconds=20):
    end = time.monotonic() + seconds
    while (still := open_now()) and time.monotonic() < end:
        time.sleep(0.5)
    return not still
