"""Who may load a device at a moment: one that times, alone, or any number that do not time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ..cache import Cache


class Turns:
    """Turns on one device, between all threads and evaluators of this user on this machine.

    Whoever must be alone goes first: nobody else comes in while one waits. Those who may be there together do so in
    between, all at once, and are not starved: they are who then wants to be alone. The locks are the system's: whoever
    dies gives up its turn.
    """

    def __init__(self, name: str) -> None:
        """Takes what the device is called by everybody on this machine."""
        self._cache, self._name = Cache(), f"timing-{name}"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until nobody else has a turn, and keeps others out."""
        with self._cache.machine_lock(f"{self._name}-wanted", shared=True), self._cache.machine_lock(self._name):
            yield

    @contextmanager
    def together(self) -> Iterator[None]:
        """Waits until nobody is alone there or wants to be, and keeps out who wants to be."""
        with ExitStack() as turn:
            with self._cache.machine_lock(f"{self._name}-wanted"):
                turn.enter_context(self._cache.machine_lock(self._name, shared=True))
            yield
