"""A strict fake of a chat completions server (and of Anthropic's) on 127.0.0.1, for tests over HTTP and tries by hand.

    with FakeModel([run("ls"), text("two files")]) as server:
        ... --api-base server.url --model fake-model ...
    assert server.violations == []

By hand: `python tests/fake_model/server.py SCRIPT.json [--port N]` prints its URL; the file holds a list of replies.
`script.py` says what a reply may hold, `strict.py` what is refused. It is real HTTP: it knows nothing of the client.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fake_model import anthropic
from tests.fake_model import script as scripted
from tests.fake_model.script import Reply, ScriptItem, call, run, text
from tests.fake_model.strict import InvalidRequestError, read_body

__all__ = ["FakeModel", "Received", "call", "run", "text"]

SCRIPT_OVER = "the script of the fake server has no reply left"


@dataclass(slots=True)
class Received:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    raw: bytes
    time: float
    """`time.monotonic()` of its arrival."""
    body: dict[str, Any] = field(default_factory=dict)
    """Empty when it is not valid."""
    violation: str | None = None
    closed: threading.Event = field(default_factory=threading.Event)
    """Set when the client closed the socket before the answer was complete."""
    closed_at: float | None = None
    """`time.monotonic()` of that."""
    answered: threading.Event = field(default_factory=threading.Event)
    """Set when all was sent that the script says."""
    answered_at: float | None = None
    """`time.monotonic()` of that."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the request."""
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    def mark_closed(self) -> None:
        """The client is gone."""
        self.closed_at = time.monotonic()
        self.closed.set()


class ClientGoneError(Exception):
    """The client closed its socket, or the server is ending."""


class FakeModel:
    """The server, with its script and all that it received. A context manager; `start` and `close` do the same."""

    def __init__(
        self,
        script: Sequence[ScriptItem] | Callable[[dict[str, Any]], Reply] = (),
        *,
        key: str | None = None,
        models: Sequence[str] | None = None,
        windows: Mapping[str, int] | None = None,
        port: int = 0,
    ) -> None:
        self.script: list[ScriptItem] = [script] if callable(script) else list(script)
        self.key = key
        """The only key that is accepted; None accepts all, also none."""
        self.models = models
        """The only names that are known; None accepts all."""
        self.windows = windows or {}
        """Context windows that `/models` tells."""
        self.listed = 0
        """How often `/models` was asked for."""
        self.requests: list[Received] = []
        """Of `/chat/completions` and `/messages`, in order of arrival."""
        self.ending = threading.Event()
        self._answers_all = callable(script)
        self._arrived = threading.Condition()
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.fake = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="fake model", daemon=True)

    @property
    def url(self) -> str:
        """What `--api-base` takes."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def violations(self) -> list[str]:
        """Why requests were refused that were not valid."""
        return [request.violation for request in self.requests if request.violation is not None]

    @property
    def last(self) -> Received:
        """The newest request."""
        return self.requests[-1]

    def start(self) -> Self:
        """Serve in a thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End the thread, the socket and every answer still open."""
        self.ending.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_for_requests(self, count: int, timeout_s: float = 20) -> list[Received]:
        """Block until so many requests came; from async code through `asyncio.to_thread`."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self.requests)} requests came, not {count}")
        return self.requests

    def receive(self, request: Received) -> int:
        """Record a request; returns its number, from 1."""
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
            return len(self.requests)

    def next_reply(self, body: dict[str, Any]) -> Reply:
        """Take the next reply of the script."""
        with self._arrived:
            if not self.script:
                return {"status": 400, "body": {"error": {"message": SCRIPT_OVER}}}
            item = self.script[0]
            reply = item(body) if callable(item) else item
            if not (self._answers_all or reply.get("repeat")):
                self.script.pop(0)
            return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    fake: FakeModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is part of the job; anything else is a fault of the server and shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Stay silent: stderr belongs to the test."""

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            self.send_error_json(404, f"no such path {self.path}")
            return
        fake = self.server.fake
        fake.listed += 1
        if fake.key is not None and self.headers.get("Authorization") != f"Bearer {fake.key}":
            self.send_error_json(401, "Incorrect API key provided")
            return
        rows: list[dict[str, Any]] = [{"id": name, "object": "model"} for name in fake.models or ["fake-model"]]
        for row in rows:
            if row["id"] in fake.windows:
                row["max_model_len"] = fake.windows[row["id"]]
        self.send_json(200, {"object": "list", "data": rows})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.path, headers, raw, time.monotonic())
        if self.path not in {"/v1/chat/completions", anthropic.PATH}:
            self.send_error_json(404, f"no such path {self.path}")
            return
        refusal = self.check(request)
        number = self.server.fake.receive(request)
        if refusal is not None:
            self.send_error_json(*refusal)
            return
        try:
            self.answer(request, number)
            request.answered_at = time.monotonic()
            request.answered.set()
        except (ClientGoneError, ConnectionError):
            request.mark_closed()
            self.close_connection = True

    @property
    def is_anthropic(self) -> bool:
        """The client speaks Anthropic's messages."""
        return self.path == anthropic.PATH

    def check(self, request: Received) -> tuple[int, str] | None:
        """Why the request is refused: status and reason."""
        fake = self.server.fake
        given = {request.headers.get("authorization"), f"Bearer {request.headers.get('x-api-key')}"}
        if fake.key is not None and f"Bearer {fake.key}" not in given:
            return 401, "Incorrect API key provided"
        try:
            request.body = anthropic.read_body(request.raw) if self.is_anthropic else read_body(request.raw)
        except InvalidRequestError as violation:
            request.violation = str(violation)
            return 400, str(violation)
        if fake.models is not None and request.body["model"] not in fake.models:
            return 404, f"The model `{request.body['model']}` does not exist"
        return None

    def answer(self, request: Received, number: int) -> None:
        reply = self.server.fake.next_reply(request.body)
        self.wait(reply.get("delay_s", 0))
        if reply.get("hang") == "start":
            self.wait(None)
        if "status" in reply:
            self.send_scripted(reply)
        elif not request.body.get("stream"):
            whole_answer = anthropic.whole_answer if self.is_anthropic else scripted.whole_answer
            self.send_json(200, whole_answer(reply, request.body["model"], request.raw, number))
        else:
            self.stream(reply, request, number)

    def stream(self, reply: Reply, request: Received, number: int) -> None:
        chunked = reply.get("chunked", True)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")))
        self.end_headers()
        for event in self.events(reply, request, number):
            self.wait(reply.get("chunk_delay_s", 0))
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event) if chunked else event)
        if reply.get("cut"):
            self.cut(reply["cut"])
        elif reply.get("hang"):
            self.wait(None)
        elif chunked:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def events(self, reply: Reply, request: Received, number: int) -> Any:
        """The stream as bytes, one event each."""
        model = request.body["model"]
        if self.is_anthropic:
            yield from anthropic.events(reply, model, request.raw, number)
            return
        for delta in scripted.deltas(reply, number):
            if isinstance(delta, str):
                yield delta.encode()
            elif set(delta) == {"sleep_s"}:
                self.wait(delta["sleep_s"])
            else:
                yield scripted.event(scripted.chunk(model, delta))
        if reply.get("cut") or reply.get("hang"):
            return
        finish = scripted.finish_reason(reply)
        if finish is not None:
            yield scripted.event(scripted.chunk(model, {}, finish))
        usage = scripted.usage(reply, request.raw)
        if usage is not None and request.body.get("stream_options", {}).get("include_usage"):
            yield scripted.event({**scripted.chunk(model, {}), "choices": [], "usage": usage})
        if reply.get("done", True):
            yield b"data: [DONE]\n\n"

    def cut(self, how: object) -> None:
        """Close the socket although the answer is not complete."""
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True
        self.connection.close()

    def wait(self, seconds: float | None) -> None:
        """Wait; None means for ever.

        Raises:
            ClientGoneError: the client closed its socket meanwhile.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            left = 0.02 if end is None else max(0.0, min(0.02, end - time.monotonic()))
            readable, _, _ = select.select([self.connection], [], [], left)
            if self.server.fake.ending.is_set() or (readable and not self.connection.recv(1, socket.MSG_PEEK)):
                raise ClientGoneError

    def send_scripted(self, reply: Reply) -> None:
        body = reply.get("body", "")
        payload = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        headers = {"Content-Type": "text/plain" if isinstance(body, str) else "application/json", **reply.get("headers", {})}
        self.send_whole(reply["status"], headers, payload)

    def send_json(self, status: int, value: object) -> None:
        self.send_whole(status, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def send_error_json(self, status: int, message: str) -> None:
        if self.is_anthropic:
            self.send_json(status, anthropic.error_body(message, status))
            return
        self.send_json(status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}})

    def send_whole(self, status: int, headers: dict[str, str], payload: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(payload))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve a script until interrupted, printing each request's newest message."""
    parser = argparse.ArgumentParser(description="Strict fake of a chat completions server on 127.0.0.1.")
    parser.add_argument("script", type=Path, help="JSON: a list of replies, see script.py")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args(argv)
    with FakeModel(json.loads(options.script.read_text()), port=options.port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        count = 0
        while True:
            try:
                request = server.wait_for_requests(count + 1, 3600)[count]
            except TimeoutError:
                continue
            except KeyboardInterrupt:
                return
            count += 1
            outcome = request.violation or json.dumps(request.body["messages"][-1])[:300]
            sys.stdout.write(f"{count}: {outcome}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
