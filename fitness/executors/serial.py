"""One job after the other, at once and in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from ..errors import TargetLost

Result = TypeVar("Result")


class Serial:
    """Runs a job when it is submitted; the future is done when `submit` returns.

    Attributes:
        workers: 1.
    """

    workers = 1

    def __init__(self, device: int = 0) -> None:
        self._device = device

    def submit(self, job: Callable[..., Result], *args: Any) -> Future[Result]:
        """Runs ``job(*args, device=…)``; what it raises comes out of the future."""
        future: Future[Result] = Future()
        try:
            future.set_result(run_once_more(job, args, (self._device, self._device)))
        except Exception as error:  # noqa: BLE001 - a future carries whatever its job raises
            future.set_exception(error)
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing is left running."""


def run_once_more(job: Callable[..., Result], args: tuple[Any, ...], devices: tuple[int, int]) -> Result:
    """Runs a job; when the hardware is lost under it, once more, on the second of ``devices``."""
    try:
        return job(*args, device=devices[0])
    except TargetLost:
        return job(*args, device=devices[1])
