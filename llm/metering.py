"""How much of a server's devices each request used, when many share them."""

from __future__ import annotations

import threading
import time


class Meter:
    """Divides the time in which a server is busy among the requests that are open.

    Args:
        devices: How many devices the server has.
    """

    def __init__(self, devices: int) -> None:
        self._devices = devices
        self._lock = threading.Lock()
        self._open = 0
        self._changed_s = time.monotonic()
        self._per_request_s = 0.0

    def enter(self) -> float:
        """Opens a request; returns the mark that `leave` takes."""
        with self._lock:
            self._advance()
            self._open += 1
            return self._per_request_s

    def leave(self, mark: float) -> float:
        """Closes a request; returns its device-seconds."""
        with self._lock:
            self._advance()
            self._open -= 1
            return self._per_request_s - mark

    def _advance(self) -> None:
        now_s = time.monotonic()
        if self._open:
            self._per_request_s += (now_s - self._changed_s) * self._devices / self._open
        self._changed_s = now_s
