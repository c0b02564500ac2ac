"""A process in a sandbox, from outside: its end, its log, and that nothing of it is left."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import subprocess
import weakref
from contextlib import suppress
from typing import Protocol, Self

from .errors import SandboxError
from .native import ENDED, HELLO, Side

_MESSAGE = struct.Struct("=IIQQ232s")
_GREETING_US = 10_000_000


class Process(Protocol):
    """What is needed of `subprocess.Popen`."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...  # noqa: D102
    def wait(self, timeout: float | None = None) -> int: ...  # noqa: D102
    def kill(self) -> None: ...  # noqa: D102


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Returns our end and theirs; on ours the system attaches who sent what, from the first message on."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def log_file() -> int:
    """Returns the descriptor of a file in memory, for what a process writes."""
    return os.memfd_create("log", os.MFD_CLOEXEC)


class Confined:
    """A process in a sandbox, from outside.

    Leaving the context kills it and all its descendants, and waits until they are gone.

    Attributes:
        work: Socket for orders and answers.
        driver: Functions that run without the interpreter's lock.
    """

    def __init__(
        self,
        process: Process,
        init: socket.socket,
        work: socket.socket,
        log: int,
        native_driver: ctypes.CDLL,
    ) -> None:
        self.work = work
        self._process = process
        self._init = init
        self._log = log
        self.driver = native_driver
        self._init_pid = 0
        self._ended: tuple[int, int] | None = None
        _ALIVE.add(self)

    def greet(self) -> None:
        """Waits for the init process and notes its id.

        Raises:
            SandboxError: It does not come up.
        """
        side = Side()
        pid = self.driver.kw_greet(self._init.fileno(), _GREETING_US, ctypes.byref(side))
        if not pid or side.told != HELLO:
            self.close()
            raise SandboxError(f"the sandbox does not come up: {self.log.strip().splitlines()[-1:] or 'no message'}")
        self._init_pid = pid

    @property
    def pid(self) -> int:
        """Host process id of the init process."""
        return self._init_pid

    def wait(self, wall_s: float) -> int | None:
        """Returns the wait status of the confined process, or None if it has not ended within ``wall_s``.

        Raises:
            SandboxError: The init process went away without a report: something outside killed it.
        """
        if self._ended is None:
            self._init.settimeout(max(wall_s, 1e-3))
            try:
                data = self._init.recv(_MESSAGE.size)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            if len(data) != _MESSAGE.size or (message := _MESSAGE.unpack(data))[0] != ENDED:
                raise SandboxError("a sandboxed process was killed from outside")
            self._ended = (int(message[2]), int(message[3]))
        return self._ended[0]

    @property
    def log(self) -> str:
        """Standard output and error so far: head and tail."""
        return self._text if self._log < 0 else _head_and_tail(self._log)

    _text = ""

    @property
    def cpu_s(self) -> float:
        """CPU time of the confined process, once it has ended."""
        return self._ended[1] / 1e6 if self._ended else 0.0

    def kill(self) -> None:
        """Kills everything in the sandbox, from any thread, without waiting."""
        pid = self._init_pid or self._process.pid
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM if pid == self._process.pid else signal.SIGKILL)

    def close(self) -> None:
        """Kills everything in the sandbox and waits until it is gone."""
        _ALIVE.discard(self)
        if self._process.returncode is None:
            self._kill()
            self._process.wait()
        if self._log >= 0:
            self._text = _head_and_tail(self._log)
            os.close(self._log)
            self._log = -1
        self._init.close()
        self.work.close()

    def _kill(self) -> None:
        if self._init_pid == self._process.pid:  # no namespace of its own: init itself must find all descendants
            self._init.close()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
        elif self._init_pid and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self._init_pid, signal.SIGKILL)  # process 1 of its namespace: all others go with it
        else:
            self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


_ALIVE: weakref.WeakSet[Confined] = weakref.WeakSet()


def kill_all() -> None:
    """Ends every sandbox of this program at once; whoever waits for one gets a `SandboxError` or a verdict."""
    for confined in list(_ALIVE):
        confined.kill()


def _head_and_tail(fd: int, limit: int = 16384) -> str:
    size = os.fstat(fd).st_size
    if size <= limit:
        data = os.pread(fd, size, 0)
    else:
        half = limit // 2
        left_out = f"\n[... {size - limit} bytes left out ...]\n".encode()
        data = os.pread(fd, half, 0) + left_out + os.pread(fd, half, size - half)
    return data.decode("utf-8", "replace")
