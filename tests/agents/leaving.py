"""The Python SDK leaves while a call is in flight.

    leaving.py BINARY PROJECT
"""

import os
import sys

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(binary, project):
    marker = os.path.join(project, "running")
    server = StdioServerParameters(command=binary, args=["--log-level", "error"], cwd=project)
    async with stdio_client(server) as streams, ClientSession(*streams) as session, anyio.create_task_group() as group:
        await session.initialize()
        group.start_soon(session.call_tool, "bash", {"command": "touch running; sleep 300"})
        while not os.path.exists(marker):
            await anyio.sleep(0.02)
        group.cancel_scope.cancel()


anyio.run(main, *sys.argv[1:])
