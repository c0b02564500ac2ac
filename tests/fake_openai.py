"""A small OpenAI-compatible server in a thread, which answers, refuses, drips or hangs up as it is told."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Mapping[str, str], object]


def completion(content: object = "hello", finish_reason: str = "stop", **message: object) -> Answer:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish_reason,
    }
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return 200, {}, {"object": "chat.completion", "model": "tiny", "choices": [choice], "usage": usage}


RESET: Answer = (-1, {}, None)
"""Closes the connection without an answer."""

DRIP: Answer = (-2, {}, None)
"""Sends the answer a byte at a time, for ever."""

DRIP_HEADERS: Answer = (-3, {}, None)
"""The same from the status line on."""


class FakeServer:
    """What the server was asked, and what it will say.

    Attributes:
        answers: For the chat completions and embeddings to come; the last one is repeated. A function makes one of the body.
        bodies: Of those so far.
        headers: Theirs.
        paths: Of all requests.
        pages: Of the other paths: status and JSON value or text.
    """

    def __init__(self) -> None:
        self.answers: list[Answer | Callable[[dict[str, Any]], Answer]] = [completion()]
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.pages: dict[str, tuple[int, object]] = {
            "/v1/models": (200, {"data": [{"id": "tiny", "max_model_len": 4096}]})
        }
        self.lock = threading.Lock()
        self.url = ""

    def next(self, body: dict[str, Any]) -> Answer:
        with self.lock:
            self.bodies.append(body)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(body) if callable(answer) else answer


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            fake.paths.append(self.path)
            status, value = fake.pages.get(self.path, (404, {"detail": "Not Found"}))
            self.reply(status, {}, value)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.paths.append(self.path)
            if self.path in fake.pages:
                self.reply(fake.pages[self.path][0], {}, fake.pages[self.path][1])
            elif self.path not in ("/v1/chat/completions", "/v1/embeddings"):
                self.reply(404, {}, {"detail": "Not Found"})
            else:
                fake.headers.append(dict(self.headers))
                self.reply(*fake.next(body))

        def reply(self, status: int, headers: Mapping[str, str], value: object) -> None:
            if status == -1:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if status < 0:
                self.drip(status == -3)
                return
            data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
            self.send_response(status)
            kind = "text/plain" if isinstance(value, str) else "application/json"
            for name, text in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data)

        def drip(self, from_the_start: bool) -> None:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n"
            self.close_connection = True
            try:
                if not from_the_start:
                    self.wfile.write(head + b"\r\n")
                for byte in (head + b"X: " if from_the_start else b"{") + b" " * 2000:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.01)
            except OSError:
                return

    return Handler


@contextmanager
def fake_server() -> Iterator[FakeServer]:
    """Runs a server for the block."""
    fake = FakeServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
