"""One time limit for a whole answer, kept below the HTTP library.

HTTP clients limit each read by itself, so that a server which sends a byte a second is never late.
Here every read and write of a connection gets what is left until the deadline of its thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai


class DeadlinePassedError(Exception):
    """The time for the whole answer is over."""


class Deadline(threading.local):
    """When the calling thread's answer must be complete, on the monotonic clock, in seconds."""

    at_s: float | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Sets the deadline for the block."""
        self.at_s = time.monotonic() + seconds
        try:
            yield
        finally:
            self.at_s = None

    @property
    def passed(self) -> bool:
        """Whether the thread has a deadline and it is over."""
        return self.at_s is not None and time.monotonic() >= self.at_s

    def left_s(self, timeout_s: float | None) -> float | None:
        """Returns the smaller of ``timeout_s`` and the time left.

        Raises:
            DeadlinePassedError: There is none left.
        """
        if self.at_s is None:
            return timeout_s
        left_s = self.at_s - time.monotonic()
        if left_s <= 0:
            raise DeadlinePassedError("no whole answer in time")
        return left_s if timeout_s is None else min(timeout_s, left_s)


class _Stream:
    """A connection whose every wait ends at the deadline; all else is the wrapped one's."""

    def __init__(self, stream: Any, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._stream.read(max_bytes, self._deadline.left_s(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left_s(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> _Stream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left_s(timeout))
        return _Stream(stream, self._deadline)


class _Network:
    """Opens connections that keep the deadline."""

    def __init__(self, network: Any, deadline: Deadline) -> None:
        self._network = network
        self._deadline = deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **rest: Any) -> _Stream:
        stream = self._network.connect_tcp(host, port, timeout=self._deadline.left_s(timeout), **rest)
        return _Stream(stream, self._deadline)


def http_client(deadline: Deadline) -> Any:
    """Returns the HTTP client that ``openai.OpenAI`` takes, with every connection under ``deadline``.

    The pool's network is an attribute that the HTTP library does not document; a test of a
    dripping server fails should it ever move.
    """
    client: Any = openai.DefaultHttpxClient()
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            pool = transport._pool
            pool._network_backend = _Network(pool._network_backend, deadline)
    return client
