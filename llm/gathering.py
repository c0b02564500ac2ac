"""Requests that differ in nothing but their seed, gathered into one with several choices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from .request import Completion, Request

Answering = Callable[[Sequence[Request]], Sequence[Completion]]


class _Group:
    """Requests that wait for one answer; the thread of the first one fetches it."""

    def __init__(self, first: Request) -> None:
        self.requests = [first]
        self.full = threading.Event()
        self.answered = threading.Event()
        self.completions: Sequence[Completion] = ()
        self.error: BaseException | None = None


class Gathering:
    """Joins equal requests that arrive within a moment, so that a server reads their prompt once.

    Args:
        answer: Answers requests that are equal but for the seed.
        window_s: How long the first waits for others.
        most: Requests in one group.
    """

    def __init__(self, answer: Answering, window_s: float, most: int) -> None:
        self._answer = answer
        self._window_s = window_s
        self._most = most
        self._lock = threading.Lock()
        self._open: dict[str, _Group] = {}

    def complete(self, request: Request) -> Completion:
        """Answers one request, perhaps together with others.

        Raises:
            LLMError: As ``answer`` has it; every request of the group meets it.
        """
        key = replace(request, seed=0).digest
        with self._lock:
            group = self._open.get(key)
            leads = group is None
            if group is None:
                group = self._open[key] = _Group(request)
            else:
                group.requests.append(request)
            place = len(group.requests) - 1
            if len(group.requests) >= self._most:
                self._open.pop(key, None)
                group.full.set()
        if leads:
            group.full.wait(self._window_s)
            with self._lock:
                if self._open.get(key) is group:
                    del self._open[key]
            self._fetch(group)
        group.answered.wait()
        if group.error is not None:
            raise group.error
        return group.completions[place]

    def _fetch(self, group: _Group) -> None:
        try:
            group.completions = self._answer(group.requests)
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to all who wait
            group.error = error
        finally:
            group.answered.set()
