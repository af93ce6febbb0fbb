"""The four dialects in which agents talk to models: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and
Gemini generateContent. Each reads a request into a `Conversation`, and writes an answer whole and as a stream of events.
"""

import dataclasses
import itertools
import json
import re
import time

numbers = itertools.count(1)

#: The tool by which models of some clients find other tools. It is no part of the script.
SEARCH = "tool_search"


@dataclasses.dataclass
class Result:
    """What the model sees of one tool result."""

    text: str = ""
    images: int = 0
    # Whether the client passed the error flag on. Some dialects have none.
    is_error: bool = False


@dataclasses.dataclass
class Conversation:
    tools: list = dataclasses.field(default_factory=list)
    # How often the model has called tools so far; calls in parallel count as one turn.
    turns: int = 0
    results: list = dataclasses.field(default_factory=list)


def result_of(content, is_error=False):
    """A result from the content of a tool result: a string, or a list of parts."""
    result = Result(is_error=is_error)
    for part in [{"text": content}] if isinstance(content, str) else content or []:
        if "image" in part.get("type", "") or "inlineData" in part:
            result.images += 1
        result.text += plain(part.get("text") or "")
    return result


def plain(text):
    """Some clients give the model the blocks of a result as JSON, perhaps cut in the middle."""
    if not re.match(r'(\{"content":)?\[\{"type":"text","text":"', text):
        return text
    return text.replace(r"\n", "\n").replace(r'\"', '"')


class Anthropic:
    path = re.compile(r"/v1/messages$")

    @staticmethod
    def read(body):
        found = Conversation([tool["name"] for tool in body.get("tools") or []])
        for message in body.get("messages", []):
            parts = [part for part in message["content"] if isinstance(part, dict)]
            found.turns += any(part.get("type") == "tool_use" for part in parts)
            for part in parts:
                if part.get("type") == "tool_result":
                    found.results.append(result_of(part.get("content"), part.get("is_error", False)))
        return found

    @staticmethod
    def write(body, calls, text):
        content = [{"type": "text", "text": text}] if text else []
        content += [{"type": "tool_use", "id": f"toolu_{next(numbers):06}", "name": name, "input": arguments}
                    for name, arguments in calls]
        whole = {"id": f"msg_{next(numbers)}", "type": "message", "role": "assistant", "model": body.get("model"),
                 "content": content, "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
                 "usage": {"input_tokens": 10, "output_tokens": 10}}
        events = [("message_start", {"message": {**whole, "content": [], "stop_reason": None}})]
        for index, part in enumerate(content):
            if part["type"] == "text":
                start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
            else:
                start = {**part, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
            events += [("content_block_start", {"index": index, "content_block": start}),
                       ("content_block_delta", {"index": index, "delta": delta}),
                       ("content_block_stop", {"index": index})]
        end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        events += [("message_delta", {"delta": end, "usage": {"output_tokens": 10}}), ("message_stop", {})]
        return whole, [(name, {"type": name, **data}) for name, data in events]


class Responses:
    path = re.compile(r"/responses$")

    @staticmethod
    def read(body):
        found = Conversation()
        for tool in body.get("tools") or []:
            # Codex puts the tools of a server into a namespace.
            inner = tool.get("tools") if tool.get("type") == "namespace" else None
            found.tools += [f"{tool['name']}/{each['name']}" for each in inner] if inner else [tool.get("name", "")]
        before = None
        for item in body["input"] if isinstance(body.get("input"), list) else []:
            kind = item.get("type", "message")
            found.turns += kind.endswith("_call") and not (before or "").endswith("_call")
            if kind == "function_call_output":
                found.results.append(result_of(item.get("output")))
            before = kind
        return found

    @staticmethod
    def write(body, calls, text):
        items = []
        for name, arguments in calls:
            item = {"type": "function_call", "id": f"fc_{next(numbers)}", "call_id": f"call_{next(numbers)}",
                    "name": name, "arguments": json.dumps(arguments), "status": "completed"}
            if "/" in name:
                item["namespace"], item["name"] = name.split("/", 1)
            items.append(item)
        if text:
            items.append({"type": "message", "id": f"m_{next(numbers)}", "role": "assistant", "status": "completed",
                          "content": [{"type": "output_text", "text": text, "annotations": []}]})
        usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}
        whole = {"id": f"resp_{next(numbers)}", "object": "response", "created_at": int(time.time()),
                 "status": "completed", "model": body.get("model"), "output": items, "parallel_tool_calls": True,
                 "tool_choice": "auto", "tools": [], "usage": usage, "error": None, "incomplete_details": None,
                 "instructions": None, "metadata": {}}
        events = [("response.created", {"response": {**whole, "status": "in_progress", "output": [], "usage": None}})]
        for index, item in enumerate(items):
            events += [("response.output_item.added", {"output_index": index, "item": {**item, "status": "in_progress"}}),
                       ("response.output_item.done", {"output_index": index, "item": item})]
        events.append(("response.completed", {"response": whole}))
        return whole, [(name, {"type": name, "sequence_number": number, **data})
                       for number, (name, data) in enumerate(events)]


class Chat:
    path = re.compile(r"/chat/completions$")

    @staticmethod
    def read(body):
        found = Conversation([tool["function"]["name"] for tool in body.get("tools") or []])
        searches = set()
        for message in body.get("messages", []):
            made = message.get("tool_calls") or []
            searches.update(call["id"] for call in made if call["function"]["name"] == SEARCH)
            found.turns += any(call["id"] not in searches for call in made)
            if message["role"] == "tool" and message.get("tool_call_id") in searches:
                continue
            if message["role"] == "tool":
                found.results.append(result_of(message.get("content")))
            elif message["role"] == "user" and found.results and isinstance(message.get("content"), list):
                # This dialect has no images in tool results, so clients let them follow in a message of the user.
                found.results[-1].images += result_of(message["content"]).images
        return found

    @staticmethod
    def write(body, calls, text):
        made = [{"index": index, "id": f"call_{next(numbers)}", "type": "function",
                 "function": {"name": name, "arguments": json.dumps(arguments)}}
                for index, (name, arguments) in enumerate(calls)]
        reason = "tool_calls" if made else "stop"
        message = {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}
        base = {"id": f"chatcmpl-{next(numbers)}", "created": int(time.time()), "model": body.get("model")}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        whole = {**base, "object": "chat.completion", "usage": usage,
                 "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}]}
        chunk = {**base, "object": "chat.completion.chunk"}
        events = [{**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                  {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                  {**chunk, "choices": [], "usage": usage}, "[DONE]"]
        return whole, [(None, event) for event in events]


class Gemini:
    path = re.compile(r":(streamGenerateContent|generateContent)$")

    @staticmethod
    def read(body):
        tools = [each for tool in body.get("tools") or [] for each in tool.get("functionDeclarations", [])]
        found = Conversation([tool["name"] for tool in tools])
        for message in body.get("contents", []):
            parts = message.get("parts", [])
            found.turns += any("functionCall" in part for part in parts)
            for part in parts:
                if answer := part.get("functionResponse"):
                    response = answer.get("response", {})
                    result = result_of(answer.get("parts"), "error" in response)
                    result.text += "".join(value for value in response.values() if isinstance(value, str))
                    found.results.append(result)
                elif "inlineData" in part and found.results:
                    found.results[-1].images += 1
        return found

    @staticmethod
    def write(body, calls, text):
        parts = [{"functionCall": {"name": name, "args": arguments, "id": f"call_{next(numbers)}"}}
                 for name, arguments in calls]
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        content = {"role": "model", "parts": parts or [{"text": text}]}
        whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage,
                 "modelVersion": "scripted", "responseId": f"r{next(numbers)}"}
        return whole, [(None, whole)]


ALL = [Anthropic, Responses, Chat, Gemini]
