"""One sandboxed process with one loaded artifact, as the parent drives it."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from .arena import Arena
from .cell import Cell, Limits
from .confined import Confined
from .errors import MachineError, SandboxError
from .evaluation import Status
from .language import Kind
from .logs import killed_by, plain
from .native import (
    CALL,
    FINE,
    FORGED,
    GONE,
    LOAD,
    NO_LOAD,
    NO_MEMORY,
    READY,
    STARVED,
    TAMPERED,
    TIMED_OUT,
    TOLD,
    UNWRITTEN,
    Sample,
    Side,
    driver,
    runtime_files,
)
from .sandbox import Sandbox

_READY_US = 10_000_000


class Failed(Exception):
    """A candidate's end of the road: the status that it gets and why.

    Attributes:
        status: The verdict.
        log: What a person or a model should read about it.
        max_rel_error: Of a wrong output.
    """

    def __init__(self, status: Status, log: str = "", max_rel_error: float | None = None) -> None:
        super().__init__(f"{status}: {log}")
        self.status, self.log, self.max_rel_error = status, log, max_rel_error


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a session loads.

    Attributes:
        path: The shared object.
        entry_point: Its symbol.
        arguments: How many arguments a call has.
        kind: As in `Build`.
    """

    path: Path
    entry_point: str
    arguments: int
    kind: Kind = "shared_object"


class Session:
    """A runner in its sandbox. Use as a context manager; leaving it leaves no process behind.

    Attributes:
        driver: The native half that drives it.
        side: The driver's view of it.
        arena: The shared memory.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        artifact: Artifact,
        arena_bytes: int,
        *,
        limits: Limits,
        environment: Mapping[str, str],
    ) -> None:
        self.driver = driver(sandbox.compiler)
        self._limits = limits
        self.arena = Arena(arena_bytes)
        options: dict[str, object] = {
            "object": artifact.path,
            "symbol": artifact.entry_point,
            "arguments": artifact.arguments,
            "arena_bytes": self.arena.bytes,
        }
        try:
            reads = (*runtime_files(sandbox.compiler), artifact.path)
            cell = Cell(reads=reads, environment=environment, has_system=False)
            self._confined: Confined = sandbox.start(cell, limits, options, arena_fd=self.arena.fd)
        except SandboxError:
            self.arena.close()
            raise
        self.side = Side(work=self._confined.work.fileno(), arena=self.arena.address, cpu_ns=-1, schedstat=-1)
        self.side.limit_ns = int(limits.wall_s * 1e9)

    def load(self) -> None:
        """Waits until the process has confined itself, then lets it load the artifact.

        Raises:
            Failed: The artifact cannot be loaded, or it ends the process while it is loaded.
            SandboxError: The process could not confine itself.
        """
        pid = self.driver.kw_greet(self._confined.work.fileno(), _READY_US, ctypes.byref(self.side))
        if not pid or self.side.told != READY:
            raise SandboxError(
                f"a runner could not confine itself: {self.side.text.decode(errors='replace') or 'no word'}"
            )
        self.side.process = pid
        self.driver.kw_watch(ctypes.byref(self.side))
        self.exchange(LOAD)

    def call(self, count: int, dirty: int = 0) -> Sample:
        """Runs the first ``count`` calls of the table, in one round trip.

        Raises:
            Failed: It did not come back as it should.
        """
        return self.exchange(CALL, count, dirty)

    def exchange(self, order: int, count: int = 0, dirty: int = 0) -> Sample:
        """Gives an order and waits for the answer.

        Raises:
            Failed: It did not come back as it should.
        """
        sample = Sample()
        outcome = self.driver.kw_exchange(ctypes.byref(self.side), order, count, dirty, ctypes.byref(sample))
        if outcome != FINE:
            raise self.failure(outcome)
        return sample

    def failure(self, outcome: int) -> Failed:
        """Returns the verdict that belongs to an outcome of the driver.

        Raises:
            MachineError: The machine gave it no processor.
            SandboxError: It was killed from outside.
        """
        log = plain(self._confined.log)
        if outcome == TIMED_OUT:
            return Failed(Status.RUN_TIMEOUT, _join(f"stopped after {self._limits.wall_s:g} s", log))
        if outcome == STARVED:
            raise MachineError("the machine is too busy: a kernel was hardly ever given a processor")
        if outcome == FORGED:
            ended = self._confined.wait(0.05) is not None
            return self._gone() if ended else Failed(Status.TAMPERED, _join("it forged a message to its driver", log))
        if outcome == TAMPERED:
            return Failed(
                Status.TAMPERED, _join("an input was changed, or memory outside the buffers was written", log)
            )
        if outcome == UNWRITTEN:
            return Failed(Status.WRONG_VALUE, _join("not all elements of the output are written", log), float("inf"))
        if outcome == TOLD:
            return self._told(log)
        assert outcome == GONE
        return self._gone()

    def _told(self, log: str) -> Failed:
        if self.side.told == NO_MEMORY:
            return Failed(Status.OUT_OF_MEMORY, _join("std::bad_alloc", log))
        if self.side.told == NO_LOAD:
            text = plain(self.side.text.decode("utf-8", "replace"))
            return Failed(Status.CRASHED, _join(f"the shared object cannot be loaded: {text}", log))
        return Failed(Status.CRASHED, _join("a C++ exception left the kernel", log))

    def _gone(self) -> Failed:
        status = self._confined.wait(2.0)
        log = plain(self._confined.log)
        if status is None or os.WIFEXITED(status):
            return Failed(Status.NO_RESULT, _join("it ended without delivering outputs", log))
        number = os.WTERMSIG(status)
        if number in (signal.SIGXCPU, signal.SIGKILL) and self.cpu_s_used() >= 0.5 * self._limits.cpu_s:
            return Failed(Status.RUN_TIMEOUT, _join(f"stopped after {self._limits.cpu_s} s of CPU time", log))
        if self.arena.was_refused_memory:
            return Failed(Status.OUT_OF_MEMORY, _join("an allocation was refused, then it crashed", log))
        return Failed(Status.CRASHED, _join(killed_by(status), log))

    def cpu_s_used(self) -> float:
        """CPU time of the process, as the system told after its end; 0 before."""
        return self._confined.cpu_s

    def close(self) -> None:
        """Kills the process and everything that it started, and waits until all of it is gone."""
        self.driver.kw_forget(ctypes.byref(self.side))
        self._confined.close()
        self.arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _join(*parts: str) -> str:
    return "\n".join(part.strip() for part in parts if part.strip())
