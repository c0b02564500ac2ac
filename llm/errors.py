"""Faults of the model's side. A reply that holds no code is not one of them.

* LLMError
  x ServerError
    + ServerStartError       the server that we start did not come up
    + ServerUnreachable      nobody answers, after bounded retries
    + ServerMismatch         somebody answers, but not as asked: wrong path, model, key or kind
  x RequestError
    + RequestTimeout         no whole answer before the deadline
    + RequestRejected        the server refuses the request (4xx); asking again will not help
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .request import Request


class LLMError(Exception):
    """Base of everything that `llm` raises."""


class ServerError(LLMError):
    """The server is the trouble, whatever was asked."""


class ServerStartError(ServerError):
    """The server that we start did not come up; the message names its log.

    Attributes:
        tail: The log's last lines.
    """

    def __init__(self, message: str, tail: str = "") -> None:
        super().__init__(message)
        self.tail = tail


class ServerUnreachable(ServerError):
    """Nobody answers at the server's address, after bounded retries."""


class ServerMismatch(ServerError):
    """Something answers at the address, but not as an OpenAI-compatible server with this model."""


class RequestError(LLMError):
    """One request failed.

    Attributes:
        request: What was asked.
        arm: The member of an ensemble that it failed at; empty outside of one.
        silent: Members that were asked before it in vain.
    """

    def __init__(self, message: str, request: Request | None = None) -> None:
        super().__init__(message)
        self.request = request
        self.arm = ""
        self.silent: tuple[str, ...] = ()


class RequestTimeout(RequestError):
    """No whole answer came before the deadline."""


class RequestRejected(RequestError):
    """The server refuses the request; asking again will not help."""
