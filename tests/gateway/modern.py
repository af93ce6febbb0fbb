"""A client of 2026-07-28, which has no protocol sessions."""
from mcp import Http

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}


class Modern(Http):
    def message(self, method, params):
        params = {**params, "_meta": {**params.get("_meta", {}), **META}}
        return super().message(method, params)

    def discover(self):
        return self.message("server/discover", {})[0]["result"]
