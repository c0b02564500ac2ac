"""Workers of a GPU target that wait ready, each for one use."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from ..errors import FitnessError, SandboxError
from ..sandbox import Sandbox
from ..target import Target
from ..task import Task
from .conditions import take_turns
from .session import DeviceSession
from .start import device_cell, start_device
from .zygote import Zygote

_LOG = logging.getLogger("kernelwright.fitness")
_AT_ONCE = 2
"""Workers that wake a device at the same time. A driver makes contexts one after the other (twelve at once take 1.3 s
on an H200, one takes 0.12 s), and all that wait for one hold up whoever else asks for memory."""
START_S = 90.0


class Workers:
    """Starts workers before they are asked for.

    Importing torch takes seconds, so workers are forks of a process that has done it; waking a GPU takes a part of
    one, so ``target.spares`` workers wait ready on each device.

    Args:
        sandbox: Confines them.
        task: What their candidates will compute.
        target: Theirs.
        devices: Device files and folders of the driver that they must reach.
    """

    def __init__(self, sandbox: Sandbox, task: Task, target: Target, devices: Sequence[Path]) -> None:
        """Starts nothing yet."""
        self._sandbox, self._task, self._target, self._devices = sandbox, task, target, devices
        self._lock = threading.Lock()
        self._zygote: Zygote | None = Zygote(sandbox, device_cell(devices, target.environment(0)), START_S)
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="device-worker")
        self._spares: dict[int, deque[Future[DeviceSession]]] = {}

    def prepare(self, device: int) -> None:
        """Has workers started, without waiting for them."""
        with self._lock:
            self._topped_up(device)

    def next(self, device: int) -> DeviceSession:
        """Returns a fresh worker, and has others started.

        Raises:
            FitnessError: It cannot be confined, or does not come up.
        """
        with self._lock:
            chosen = self._topped_up(device).popleft()
        return chosen.result()

    def _topped_up(self, device: int) -> deque[Future[DeviceSession]]:
        spares = self._spares.setdefault(device, deque())
        while len(spares) < 1 + int(getattr(self._target, "spares", 1)):
            spares.append(self._threads.submit(self.start, device))
        return spares

    def start(self, device: int) -> DeviceSession:
        """Returns a worker whose device is awake; forked where that works, else a program of its own.

        Raises:
            FitnessError: It cannot be confined, or does not come up.
        """
        take_turns()  # from the first moment that others can see one of ours on a device
        environment = self._target.environment(device)
        if self._zygote is not None:
            try:
                return start_device(
                    self._sandbox, self._task, environment, self._devices, timeout_s=START_S, zygote=self._zygote
                )
            except SandboxError as error:
                _LOG.warning(
                    "each worker imports everything anew, which takes seconds, for none can be forked: %s", error
                )
                self._zygote = None
        return start_device(self._sandbox, self._task, environment, self._devices, timeout_s=START_S)

    def adopt(self, cache: Path) -> None:
        """Lets later workers begin with the launchers in a compile cache of Triton, used by a trusted kernel alone."""
        if self._zygote is not None:
            self._zygote.adopt(cache)

    def close(self) -> None:
        """Ends those that wait, and what they were forked from."""
        self._threads.shutdown(wait=False)  # nobody starts another meanwhile
        with self._lock:
            waiting = [each for spares in self._spares.values() for each in spares]
            self._spares = {}
        for future in waiting:
            if not future.cancel():
                with suppress(FitnessError, OSError):  # it did not come up, which is no trouble any more
                    future.result().close()
        self._threads.shutdown()
        if self._zygote is not None:
            self._zygote.close()
