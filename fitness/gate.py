"""Who may run while something is being timed: nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Lets many pass together, or one alone; who waits to be alone goes first."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._inside = 0
        self._alone = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Passes together with others, but not while one is alone or waits to be."""
        with self._condition:
            self._condition.wait_for(lambda: not self._alone and not self._waiting)
            self._inside += 1
        try:
            yield
        finally:
            with self._condition:
                self._inside -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Passes when nobody is inside, and keeps everybody out."""
        with self._condition:
            self._waiting += 1
            try:
                self._condition.wait_for(lambda: not self._alone and self._inside == 0)
                self._alone = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._condition:
                self._alone = False
                self._condition.notify_all()
