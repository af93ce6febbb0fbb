"""A scripted model on loopback. It speaks the dialects of real models, so real agents can be driven without any.

A *talk* has a name and a script. An agent is pointed at `url(name)`. The script is a list of steps, one for each turn of the
model. A step is a call `(tool, arguments)`, where `tool` is the server's own name for it; a list of calls in parallel; or a
function from the results so far to one of these, or to None to go on with the next step. After the last step the model
says "done". What reached the model is in the `Talk`.
"""

import dataclasses
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import dialects


@dataclasses.dataclass
class Talk:
    script: list
    tools: list = dataclasses.field(default_factory=list)
    results: list = dataclasses.field(default_factory=list)
    # The largest request as it came.
    body: str = ""
    finished: bool = False

    def answer(self, conversation):
        """The calls and the text that the script has for this state of the conversation."""
        left = self.script[conversation.turns:]
        step = left[0] if left else None
        if callable(step):
            step = step(conversation.results)
        if step is None:
            self.finished = True
            return [], "done"
        calls = step if isinstance(step, list) else [step]
        named = [(offered(tool, conversation.tools), arguments) for tool, arguments in calls]
        hidden = [tool for (tool, _), (name, _) in zip(calls, named) if name is None]
        if hidden and dialects.SEARCH in conversation.tools:
            # Some clients show tools only to a model that looks for them.
            return [(dialects.SEARCH, {"query": "select:" + ",".join(f"mcp__testudo__{tool}" for tool in hidden)})], ""
        return [(name or "a_tool_that_is_not_offered", arguments) for name, arguments in named], ""


def offered(tool, names):
    """The name that the client gave to a tool of the server: mcp__testudo__bash, testudo_bash, bash."""
    ours = [name for name in names if re.search(rf"(^|testudo[^a-z]+){tool}$", name)]
    # A client's own tool may have the same name, without ours.
    return max(ours, key=len, default=None)


class Model:
    """Serves as many talks as one likes at the same time."""

    def __init__(self):
        self.talks = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.talks = self.talks
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def talk(self, name, script):
        self.talks[name] = Talk(script)
        return self.talks[name]

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_json({})

    def do_GET(self):
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "tests", "type": "model"}
        self.send_json({"object": "list", "data": [model], "models": [], "has_more": False})

    def do_POST(self):
        path, body = self.path.split("?")[0], self.read_body()
        talk = self.server.talks.get(path.split("/")[1])
        dialect = next((each for each in dialects.ALL if each.path.search(path)), None)
        if talk is None or dialect is None:
            # Telemetry, and questions about the number of tokens.
            return self.send_json({"input_tokens": 10, "totalTokens": 10})
        conversation = dialect.read(body)
        calls, text = [], "a title"
        # A request without tools is for a title or a summary.
        if conversation.tools:
            talk.tools = conversation.tools
            if len(conversation.results) >= len(talk.results):
                talk.results, talk.body = conversation.results, json.dumps(body)
            calls, text = talk.answer(conversation)
        whole, events = dialect.write(body, calls, text)
        streamed = "stream" in path if dialect is dialects.Gemini else body.get("stream")
        return self.send_events(events) if streamed else self.send_json(whole)

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            return json.loads(data)
        except ValueError:
            return {}

    def send_json(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_events(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, data in events:
            data = data if isinstance(data, str) else json.dumps(data)
            event = ((f"event: {name}\n" if name else "") + f"data: {data}\n\n").encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")
