"""Who may load a device at a moment: one that times, alone, or any number that do not time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ..cache import Cache


class Turns:
    """Turns on one device, between all threads and evaluators of this user on this machine.

    All come through one door and wait behind it, so that those who may be there together never starve the one who must
    be alone. The locks are the system's: whoever dies gives up its turn.
    """

    def __init__(self, name: str) -> None:
        """Takes what the device is called by everybody on this machine."""
        self._cache, self._name = Cache(), f"timing-{name}"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until nobody else has a turn, and keeps others out."""
        with self._door(), self._cache.machine_lock(self._name):
            yield

    @contextmanager
    def together(self) -> Iterator[None]:
        """Waits until nobody is alone there, and keeps out who wants to be."""
        with ExitStack() as turn:
            with self._door():
                turn.enter_context(self._cache.machine_lock(self._name, shared=True))
            yield

    @contextmanager
    def _door(self) -> Iterator[None]:
        with self._cache.machine_lock(f"{self._name}-next"):
            yield
