"""An agent on the OpenAI Agents SDK.

    openai_agents_agent.py MODEL-URL SERVER.json
"""

import asyncio
import json
import sys

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI


async def main(url, server):
    set_tracing_disabled(True)
    model = OpenAIResponsesModel("scripted", AsyncOpenAI(base_url=f"{url}/v1", api_key="dummy"))
    # Without this setting it gives up on a call after 5 seconds: see docs/clients.md.
    patience = {"client_session_timeout_seconds": 660}
    kind = MCPServerStreamableHttp if "url" in server else MCPServerStdio
    async with kind(params=server, **patience) as connection:
        agent = Agent("scripted", model=model, mcp_servers=[connection])
        await Runner.run(agent, "Follow the script.", max_turns=30)


asyncio.run(main(sys.argv[1], json.load(open(sys.argv[2]))))
