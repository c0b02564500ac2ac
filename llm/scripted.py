"""A client without a model, for tests and documentation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from .request import Completion, Request


class ScriptedClient:
    """Answers from a list, or from a function of the request.

    Args:
        replies: Texts or completions, given out in order and over again; or a function that makes
            one of either from the request. A function keeps runs independent of the order in
            which threads ask.

    Attributes:
        requests: Every request so far, in order of arrival.

    Raises:
        ValueError: There are no replies.
    """

    def __init__(self, replies: Sequence[str | Completion] | Callable[[Request], str | Completion]) -> None:
        if not callable(replies) and not replies:
            raise ValueError("a ScriptedClient needs at least one reply")
        self._replies = replies
        self._lock = threading.Lock()
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Completion:
        """Returns the next reply."""
        with self._lock:
            turn = len(self.requests)
            self.requests.append(request)
        reply = self._replies(request) if callable(self._replies) else self._replies[turn % len(self._replies)]
        if isinstance(reply, Completion):
            return reply
        prompt_tokens = sum(len(message.content.split()) for message in request.messages)
        return Completion(reply, prompt_tokens=prompt_tokens, completion_tokens=len(reply.split()), model="scripted")
