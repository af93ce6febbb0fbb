"""Clients of the gateway, over HTTP and over pipes. They share no code with it."""
import base64, http.client, itertools, json, queue, subprocess, threading, time, uuid

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def stdout(result):
    """What a command printed; its result has the exit code before and, if there is any, stderr behind."""
    text = result["content"][0]["text"]
    assert text.startswith("exit_code: 0"), result
    return text.partition("stdout:\n")[2].partition("\n\nstderr:")[0].strip()


class Refused(Exception):
    def __init__(self, status, headers, body):
        super().__init__(f"{status}: {body[:300]}")
        self.status, self.headers, self.body = status, headers, body


class Http:
    """One protocol session. `address` may be changed between calls: any gateway serves it."""

    def __init__(self, address, token="alice-token", path="/mcp", timeout=300):
        self.address, self.token, self.path, self.timeout, self.session = address, token, path, timeout, None
        self.ids, self.connection, self.connected_to, self.used = itertools.count(1), None, None, 0

    def begin(self):
        _, headers = self.message("initialize", HELLO)
        self.session = headers["mcp-session-id"]
        self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def message(self, method, params):
        number = next(self.ids)
        body, headers = self.send("POST", {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        events = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")]
        for text in [event for event in events if event] or [body]:
            found = json.loads(text)
            if found.get("id") == number:
                return found, headers
        raise ConnectionError(f"no response: {body[:300]}")

    def call(self, command, call_id=None, **arguments):
        params = {"name": "bash", "arguments": {"command": command, **arguments}}
        if call_id:
            params["_meta"] = {"testudo/callId": call_id}
        found, _ = self.message("tools/call", params)
        if "result" not in found:
            raise ConnectionError(str(found))
        return found["result"]

    def text(self, command, **arguments):
        result = self.call(command, **arguments)
        assert not result.get("isError"), result
        return stdout(result)

    def place(self):
        """The id of the place in the signed session id."""
        payload = self.session.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["p"]

    def end(self):
        return self.send("DELETE", None)

    def send(self, method, message):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "Mcp-Protocol-Version": "2025-11-25"}
        body = json.dumps(message) if message is not None else ""
        # The gateway closes a connection that is idle for 30 s.
        if self.connected_to != self.address or time.monotonic() - self.used > 20:
            self.connection = http.client.HTTPConnection(self.address, timeout=self.timeout)
            self.connected_to = self.address
        self.used = time.monotonic()
        try:
            self.connection.request(method, self.path, body, headers)
            answer = self.connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.connection, self.connected_to = None, None
            raise ConnectionError(str(error)) from error
        found = {name.lower(): value for name, value in answer.getheaders()}
        if answer.status >= 300:
            raise Refused(answer.status, found, text)
        return text, found


class Stdio:
    """A client that starts the gateway, as an agent's host does."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **options)
        self.answers, self.ids = {}, itertools.count(1)
        self.arrived = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        self.welcome = self.wait(self.start("initialize", HELLO))["result"]
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.arrived:
                if "method" not in message:
                    self.answers[message["id"]] = message
                self.arrived.notify_all()
        with self.arrived:
            self.answers[None] = True
            self.arrived.notify_all()

    def write(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def start(self, method, params):
        number = next(self.ids)
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def wait(self, number, timeout=120):
        with self.arrived:
            assert self.arrived.wait_for(lambda: number in self.answers or None in self.answers, timeout), "no answer"
            assert number in self.answers, "the gateway hung up"
            return self.answers.pop(number)

    def begin_call(self, command, tool="bash", **arguments):
        arguments = {"command": command, **arguments} if tool == "bash" else arguments
        return self.start("tools/call", {"name": tool, "arguments": arguments})

    def call(self, command, tool="bash", **arguments):
        return self.wait(self.begin_call(command, tool, **arguments))["result"]

    def text(self, command, **arguments):
        result = self.call(command, **arguments)
        assert not result.get("isError"), result
        return stdout(result)

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(60)
        assert code == 0, f"the gateway ended with {code}"


def until(what, look, timeout=60):
    """Waits for a condition and returns how long it took."""
    begin = time.monotonic()
    while not look():
        assert time.monotonic() - begin < timeout, f"waited in vain for {what}"
        time.sleep(0.02)
    return time.monotonic() - begin


def new_id():
    return uuid.uuid4().hex
