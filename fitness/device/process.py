"""The worker of a GPU target as its parent sees it: a process, two pipes, and a deadline for every answer."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..confined import Confined
from ..evaluation import JSON, Status
from ..session import Failed

Arrays = dict[str, NDArray[Any]]

_LIMIT_BYTES = 1 << 34


class DeviceProcess:
    """A worker, from its start to its end; it serves one candidate. Use as a context manager.

    Attributes:
        facts: What the device and its libraries are; empty before `greet`.
    """

    def __init__(self, confined: Confined, receive: int, send: int) -> None:
        """Takes over the two descriptors."""
        self._confined, self._receive, self._send = confined, receive, send
        os.set_blocking(receive, False)
        os.set_blocking(send, False)
        self.deadline = time.monotonic() + 60.0

    def request(self, message: JSON, arrays: Mapping[str, NDArray[Any]] | None = None) -> tuple[JSON, Arrays]:
        """Sends a command and returns the answer.

        Raises:
            Failed: The candidate ended the process, raised, or took too long.
        """
        self.send(message, arrays or {})
        return self.receive()

    def send(self, message: JSON, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Sends a message with its arrays.

        Raises:
            Failed: The process is gone or does not read.
        """
        declared = [{"name": n, "dtype": str(a.dtype), "shape": list(a.shape)} for n, a in arrays.items()]
        head = json.dumps({**message, "arrays": declared}).encode()
        self._write(struct.pack("<Q", len(head)) + head)
        for array in arrays.values():
            if array.size:
                self._write(np.ascontiguousarray(array).data.cast("B"))

    def receive(self) -> tuple[JSON, Arrays]:
        """Returns the next message and its arrays. Nothing in it is believed beyond its form.

        Raises:
            Failed: There is none, or it is not of the form.
        """
        (size,) = struct.unpack("<Q", self._read(8))
        try:
            message = json.loads(self._read(self._sane(size)))
            arrays: Arrays = {}
            for spec in message.pop("arrays"):
                dtype, shape = np.dtype(str(spec["dtype"])), tuple(int(extent) for extent in spec["shape"])
                if dtype.hasobject or any(extent < 0 for extent in shape):
                    raise ValueError(dtype.name)
                count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
                arrays[str(spec["name"])] = np.frombuffer(self._read(self._sane(count)), dtype=dtype).reshape(shape)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Failed(Status.NO_RESULT, "its answer is not of the agreed form") from error
        if "failed" in message:
            raise self._failure(message)
        return message, arrays

    def _failure(self, message: JSON) -> Failed:
        log = str(message.get("log", ""))[-8000:]
        if message["failed"] == "out_of_memory":
            return Failed(Status.OUT_OF_MEMORY, log)
        if message["failed"] == "exited":
            return Failed(Status.NO_RESULT, log)
        return Failed(Status.CRASHED, log)

    def _sane(self, size: int) -> int:
        if not 0 <= size <= _LIMIT_BYTES:
            raise ValueError(size)
        return size

    def _write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._send, select.POLLOUT)
            try:
                view = view[os.write(self._send, view) :]
            except OSError as error:
                raise self._gone() from error

    def _read(self, size: int) -> bytes:
        data, at = bytearray(size), 0
        while at < size:
            self._wait(self._receive, select.POLLIN)
            piece = os.readv(self._receive, [memoryview(data)[at:]])
            if not piece:
                raise self._gone()
            at += piece
        return bytes(data)

    def _wait(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        left_s = self.deadline - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1e3):
            raise Failed(Status.RUN_TIMEOUT, f"stopped at its time limit\n{self._confined.log}".strip())

    def _gone(self) -> Failed:
        status = self._confined.wait(5.0)
        log = self._confined.log
        if status is None or os.WIFEXITED(status):
            return Failed(Status.NO_RESULT, f"it ended without delivering outputs\n{log}".strip())
        return Failed(Status.CRASHED, f"killed by signal {os.WTERMSIG(status)}\n{log}".strip())

    def close(self) -> None:
        """Kills the process with all that it started, and waits until all of it is gone."""
        self._confined.close()
        for descriptor in (self._receive, self._send):
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
