"""`server.json`: how the MCP registry describes the server and where its packages are."""
import hashlib, json

import identity

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
VARIABLES = {
    "TESTUDO_PROJECT_DIR": {"description": "The directory that the agent may read and write", "format": "filepath"},
    "TESTUDO_SANDBOX": {"description": "What commands may write; workspace-write if not set",
                        "choices": ["workspace-write", "read-only", "off"]},
    "TESTUDO_NETWORK": {"description": "Whether commands may use the network; on if not set",
                        "choices": ["on", "hosts", "off"]},
    "TESTUDO_ALLOW_HOSTS": {"description": "The hosts that commands may reach; as soon as one is named, no other is"},
}


def description(bundle_name, bundle):
    version = identity.version()
    variables = [{"name": name, **about} for name, about in VARIABLES.items()]
    common = {"version": version, "transport": {"type": "stdio"}, "environmentVariables": variables}
    released = f"{identity.REPOSITORY}/releases/download/v{version}/{bundle_name}"
    return json.dumps({
        "$schema": SCHEMA, "name": identity.registry_name(), "title": "testudo", "description": identity.SUMMARY,
        "version": version, "repository": {"url": identity.REPOSITORY, "source": identity.forge()},
        "packages": [
            {"registryType": "npm", "identifier": identity.PACKAGE, "runtimeHint": "npx", **common},
            {"registryType": "pypi", "identifier": identity.PACKAGE, "runtimeHint": "uvx", **common},
            {"registryType": "mcpb", "identifier": released, "fileSha256": hashlib.sha256(bundle).hexdigest(), **common},
        ],
    }, indent=2).encode() + b"\n"
