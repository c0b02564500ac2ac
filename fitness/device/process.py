"""The worker of a GPU target as its parent sees it: a process, two pipes, and a deadline for every answer."""

from __future__ import annotations

import fcntl
import json
import math
import os
import select
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..confined import Confined
from ..disk import too_much, used_bytes
from ..evaluation import JSON, Status
from ..logs import killed_by
from ..session import Failed

Arrays = dict[str, NDArray[Any]]

_HEAD_BYTES = 1 << 24
_PIPE_BYTES = 1 << 20
_MOST_AXES, _MOST_ELEMENTS = 16, 1 << 40
_LOOK_S = 0.5
DISK_BYTES = 1 << 32
"""What all files of a candidate may take together: compilers of its own keep theirs in its folder."""
Form = tuple[str, np.dtype[Any], tuple[int, ...]]


class DeviceProcess:
    """A worker, from its start to its end; it serves one candidate. Use as a context manager.

    Attributes:
        facts: What the device and its libraries are; empty before `greet`.
    """

    def __init__(self, confined: Confined, receive: int, send: int, folder: Path) -> None:
        """Takes over the two descriptors; ``folder`` is what it may write."""
        self._confined, self._receive, self._send, self._folder = confined, receive, send, folder
        for pipe in (receive, send):
            os.set_blocking(pipe, False)
            with suppress(OSError):  # a user may have no more of such pipes: it is then slower
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.deadline = time.monotonic() + 60.0

    @classmethod
    def connected(cls, start: Callable[[tuple[int, int]], Confined], folder: Path) -> Self:
        """Has a worker started by ``start``, which is given its ends of two pipes: for commands, and for answers.

        Raises:
            FitnessError: As ``start`` has it.
        """
        ends: list[int] = []
        try:
            for _ in range(2):
                ends += os.pipe()
            commands, send, receive, answers = ends
            confined = start((commands, answers))
        except BaseException:
            for end in ends:
                os.close(end)
            raise
        os.close(commands)
        os.close(answers)
        return cls(confined, receive, send, folder)

    def request(
        self, message: JSON, arrays: Mapping[str, NDArray[Any]] | None = None, most_bytes: int = 0
    ) -> tuple[JSON, Arrays]:
        """Sends a command and returns the answer, whose arrays may hold ``most_bytes`` together.

        Raises:
            Failed: The candidate ended the process, raised, answered too much, or took too long.
        """
        self.send(message, arrays or {})
        return self.receive(most_bytes)

    def round_trip(self, message: JSON) -> tuple[float, JSON]:
        """Sends a short command; returns the seconds until the answer began, and the answer.

        Raises:
            Failed: As `request` has it, or the answer was there before it was asked for, or the command is not read.
        """
        order, start_s = _packed(message, {}), time.monotonic()
        left_s = min(self.deadline - start_s, _LOOK_S)
        took_ns = self._confined.driver.kw_round_trip(
            self._send, self._receive, order, len(order), max(0, int(left_s * 1e6))
        )
        if took_ns == -1:
            raise Failed(Status.SUSPECT, "it answers before it is asked, or does not read what it is asked")
        if took_ns == -2:  # it takes long: this clock is good enough, and what it writes meanwhile is looked at
            self._wait(self._receive, select.POLLIN)
            took_ns = int((time.monotonic() - start_s) * 1e9)
        answer, _ = self.receive()  # which tells what became of the process, if it is gone
        return took_ns * 1e-9, answer

    def send(self, message: JSON, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Sends a message with its arrays.

        Raises:
            Failed: The process is gone or does not read.
        """
        self._write(_packed(message, arrays))
        for array in arrays.values():
            if array.size:
                self._write(np.ascontiguousarray(array).data.cast("B"))

    def receive(self, most_bytes: int = 0) -> tuple[JSON, Arrays]:
        """Returns the next message and its arrays. Nothing in it is believed beyond its form.

        Raises:
            Failed: There is none, it is not of the form, or its arrays hold more than ``most_bytes``.
        """
        (size,) = struct.unpack("<Q", self._read(8).data)
        if size > _HEAD_BYTES:
            raise Failed(Status.NO_RESULT, "its answer is not of the agreed form")
        message, forms = _parsed(bytes(self._read(size)))
        if "failed" in message:
            raise self._failure(message)
        sizes = [math.prod(shape) * dtype.itemsize for _, dtype, shape in forms]
        if sum(sizes) > most_bytes:
            raise Failed(Status.WRONG_SHAPE, f"its outputs hold {sum(sizes)} bytes, far more than was asked for")
        return message, {
            name: self._read(size).view(dtype).reshape(shape)
            for size, (name, dtype, shape) in zip(sizes, forms, strict=True)
        }

    def _failure(self, message: JSON) -> Failed:
        log = str(message.get("log", ""))[-8000:]
        if message["failed"] == "out_of_memory":
            return Failed(Status.OUT_OF_MEMORY, log)
        if message["failed"] == "exited":
            return Failed(Status.NO_RESULT, log)
        return Failed(Status.CRASHED, log)

    def _write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._send, select.POLLOUT)
            try:
                view = view[os.write(self._send, view) :]
            except OSError as error:
                raise self._gone() from error

    def _read(self, size: int) -> NDArray[np.uint8]:
        data = np.empty(size, np.uint8)  # a size that is only claimed takes no memory before something comes
        view, at = data.data, 0
        while at < size:
            self._wait(self._receive, select.POLLIN)
            piece = os.readv(self._receive, [view[at:]])
            if not piece:
                raise self._gone()
            at += piece
        return data

    def _wait(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        while (left_s := self.deadline - time.monotonic()) > 0:
            if poll.poll(min(left_s, _LOOK_S) * 1e3):
                return
            if used_bytes(self._folder, self._confined.pid) > DISK_BYTES:
                raise Failed(Status.CRASHED, too_much(DISK_BYTES))
        raise Failed(Status.RUN_TIMEOUT, f"stopped at its time limit\n{self._confined.log}".strip())

    def _gone(self) -> Failed:
        status = self._confined.wait(5.0)
        log = self._confined.log
        if status is None or os.WIFEXITED(status):
            return Failed(Status.NO_RESULT, f"it ended without delivering outputs\n{log}".strip())
        return Failed(Status.CRASHED, f"{killed_by(status)}\n{log}".strip())

    def close(self) -> None:
        """Kills the process with all that it started, and waits until all of it is gone."""
        self._confined.close()
        for descriptor in (self._receive, self._send):
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _packed(message: JSON, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Returns a message as it is sent, without the contents of its arrays."""
    declared = [{"name": n, "dtype": str(a.dtype), "shape": list(a.shape)} for n, a in arrays.items()]
    head = json.dumps({**message, "arrays": declared}).encode()
    return struct.pack("<Q", len(head)) + head


def _parsed(head: bytes) -> tuple[JSON, list[Form]]:
    """Returns a message and the name, dtype and shape of its arrays.

    Raises:
        Failed: It is not of the form.
    """
    try:
        message = json.loads(head)
        forms = [
            (str(each["name"]), np.dtype(str(each["dtype"])), tuple(map(int, each["shape"])))
            for each in message.pop("arrays")
        ]
        for _, dtype, shape in forms:
            small = len(shape) <= _MOST_AXES and math.prod(max(1, extent) for extent in shape) <= _MOST_ELEMENTS
            if dtype.kind not in "biufc" or not small or min(shape, default=0) < 0:
                raise ValueError("no arrays of numbers")
    except Exception as error:  # JSON too deep, a dtype that is a program, an endless extent: all is one answer
        raise Failed(Status.NO_RESULT, "its answer is not of the agreed form") from error
    return message, forms
