"""The bill of materials: every crate in the binary, with its licence and the checksum that Cargo.lock holds."""
import json, tomllib, uuid

import identity


def of(target):
    found = identity.metadata(target)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    root = found["resolve"]["root"]
    linked, waiting = set(), [root]
    while waiting:
        at = waiting.pop()
        if at in linked:
            continue
        linked.add(at)
        waiting += dependencies(nodes[at])
    sums = checksums()
    components = [component(packages[name], sums) for name in linked - {root}]
    tree = [{"ref": purl(packages[name]), "dependsOn": sorted({purl(packages[of]) for of in dependencies(nodes[name])})}
            for name in linked]
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{identity.REPOSITORY}/{identity.version()}/{target}")
    return json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1,
        "metadata": {"component": {**component(packages[root], sums), "type": "application"}},
        "components": sorted(components, key=lambda one: one["bom-ref"]),
        "dependencies": sorted(tree, key=lambda one: one["ref"]),
    }, indent=2).encode() + b"\n"


def dependencies(node):
    """What is linked in: neither the crates of tests nor those of build scripts."""
    return [edge["pkg"] for edge in node["deps"] if any(kind["kind"] is None for kind in edge["dep_kinds"])]


def component(package, sums):
    made = {"type": "library", "bom-ref": purl(package), "name": package["name"], "version": package["version"],
            "purl": purl(package)}
    if package.get("license"):
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if digest := sums.get((package["name"], package["version"])):
        made["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return made


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def checksums():
    locked = tomllib.loads((identity.ROOT / "Cargo.lock").read_text())["package"]
    return {(one["name"], one["version"]): one["checksum"] for one in locked if "checksum" in one}
