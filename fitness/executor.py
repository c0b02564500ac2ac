"""Where evaluations run, and who may run while something is being timed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, Self, TypeVar

Result = TypeVar("Result")


class Executor(Protocol):
    """Runs jobs on this machine's cores, on several devices, or on a cluster.

    A job is called as ``job(*args, device=i)`` with the device of the slot that it runs in; it
    belongs to one slot at a time. Used as a context manager: leaving it waits for nothing and
    leaves no process behind.

    Attributes:
        workers: How many jobs run at once.
    """

    workers: int

    def submit(self, job: Callable[..., Result], *args: Any) -> Future[Result]:
        """Schedules ``job(*args, device=…)``."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...
