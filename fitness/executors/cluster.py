"""The way into a Ray cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

from ..errors import TargetUnavailable, ToolchainError

_CONNECT_S = 5.0


@contextlib.contextmanager
def connected(address: str | None, *, log_to_driver: bool = False) -> Iterator[None]:
    """Makes this process a driver of a cluster, unless it is one already.

    Args:
        address: Of the head, ``"host:port"``; None for ``$RAY_ADDRESS``, for the cluster that this machine belongs
            to, or else for a new one on this machine.
        log_to_driver: Whether what jobs print is shown here.

    Raises:
        ToolchainError: Ray is not installed.
        TargetUnavailable: No cluster answers.
    """
    ray = library()
    if ray.is_initialized():
        yield
        return
    _connect(address, log_to_driver)
    try:
        yield
    finally:
        ray.shutdown()


def library() -> Any:
    """Returns Ray's module, of which only parts have types.

    Raises:
        ToolchainError: Ray is not installed.
    """
    try:
        import ray
    except ImportError:
        raise ToolchainError("Ray is not installed; run pip install 'ray>=2.40'") from None
    return ray


def _connect(address: str | None, log_to_driver: bool) -> None:
    ray = library()
    where = address or os.environ.get("RAY_ADDRESS", "")
    handler = signal.getsignal(signal.SIGTERM)
    try:
        if found := re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", where):
            socket.create_connection((found[1], int(found[2])), _CONNECT_S).close()  # Ray itself would try for minutes
        ray.init(address=address, log_to_driver=log_to_driver, logging_level=logging.WARNING)
    except (OSError, RuntimeError, ValueError) as error:
        raise TargetUnavailable(
            f"no Ray cluster answers at {where or 'the default address'}: {last_line(error)}"
        ) from error
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray sets its own, which would end us without putting anything away


def last_line(error: Exception) -> str:
    """Returns what an error says last, where Ray puts the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
