"""An agent on fastmcp's client: a loop that asks the model and calls the tools that it names.

    fastmcp_agent.py MODEL-URL SERVER.json

A person who allows everything once sits at it.
"""

import asyncio
import json
import sys
import urllib.request

from fastmcp import Client


async def person(message, response_type, params, context):
    return response_type(decision="once")


def ask(url, messages, tools):
    functions = [{"type": "function", "function": {"name": tool.name, "description": tool.description,
                                                   "parameters": tool.inputSchema}} for tool in tools]
    body = {"model": "scripted", "messages": messages, "tools": functions}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def parts(block):
    if block.type == "image":
        return {"type": "image_url", "image_url": {"url": f"data:{block.mimeType};base64,{block.data}"}}
    return {"type": "text", "text": block.text}


async def main(url, server):
    messages = [{"role": "user", "content": "Follow the script."}]
    async with Client({"mcpServers": {"testudo": server}}, elicitation_handler=person) as client:
        tools = await client.list_tools()
        while calls := (answer := ask(url, messages, tools)).get("tool_calls"):
            messages.append(answer)
            for call in calls:
                function = call["function"]
                result = await client.call_tool(function["name"], json.loads(function["arguments"]),
                                                raise_on_error=False)
                messages.append({"role": "tool", "tool_call_id": call["id"],
                                 "content": [parts(block) for block in result.content]})


asyncio.run(main(sys.argv[1], json.load(open(sys.argv[2]))))
