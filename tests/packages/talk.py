"""A client that starts a server from a command line, as MCP clients do, and makes one call."""
import json, subprocess

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "packages", "version": "1"}}


def call(words, tool, arguments, **options):
    """The text of the result and the version that the server says it has."""
    server = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **options)
    for message in ({"id": 1, "method": "initialize", "params": HELLO}, {"method": "notifications/initialized"},
                    {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}):
        print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)
    said, version = "", None
    for line in server.stdout:
        answer = json.loads(line)
        if answer.get("id") == 1:
            version = answer["result"]["serverInfo"]["version"]
        if answer.get("id") == 2:
            said = "".join(block.get("text", "") for block in answer["result"]["content"])
            break
    _, log = server.communicate()
    return said or log, version
