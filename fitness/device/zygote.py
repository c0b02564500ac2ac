"""Workers that are forked from a process with everything imported: fifty times faster than starting a program."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from ..cell import Cell, Limits
from ..confined import Confined, log_file, socket_pair
from ..disk import Scratch
from ..errors import SandboxError
from ..native import driver, native
from ..sandbox import Sandbox

_ATTEMPTS = 3
_PROGRAM = Path(__file__).resolve().parent.parent / "workers" / "zygote.py"


class Zygote:
    """A trusted process that has imported torch and Triton and forks one confined worker for each candidate.

    It is started at its first use and again when it was killed. Under bubblewrap it has a read-only view of what
    workers need, and each fork leaves it for namespaces and a scratch folder of its own; under the mechanism
    *limits*, each fork puts Landlock, seccomp and limits on itself. Either way a worker has what a program
    started by `Sandbox.start` has, and an init process that ends with it.

    Args:
        sandbox: Confines the forks.
        cell: What they see beside their scratch folder.
        timeout_s: Wall clock of the imports.

    Attributes:
        folder: Holds the scratch folders of all forks; a fork sees its own alone.
        caches: What Triton compiled for itself and for launching the seed; a fork gets a copy.
    """

    def __init__(self, sandbox: Sandbox, cell: Cell, timeout_s: float) -> None:
        self._sandbox, self._cell, self._timeout_s = sandbox, cell, timeout_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder = Scratch()
        self.folder = Path(self._folder.name)
        self.caches = self.folder / "triton"

    @property
    def pid(self) -> int:
        """Process id of what was started; 0 before the first use."""
        return self._process.pid if self._process else 0

    def start(self, cell: Cell, limits: Limits, options: Mapping[str, object], channel: tuple[int, int]) -> Confined:
        """Forks a worker; ``channel`` is what it reads commands from and writes answers to.

        Raises:
            SandboxError: No worker confines itself, of this zygote nor of one that follows it.
        """
        for _ in range(_ATTEMPTS - 1):
            with suppress(SandboxError):
                return self._fork(cell, limits, options, channel)
        return self._fork(cell, limits, options, channel)

    def adopt(self, cache: Path) -> None:
        """Lets later forks begin with the launchers in a compile cache of Triton, used by a trusted kernel alone."""
        self.caches.mkdir(exist_ok=True)  # Triton makes it only where it compiles something at the start
        for launcher in cache.glob("*/__triton_launcher*"):
            place = self.caches / launcher.parent.name
            if not place.exists():
                fresh = Path(tempfile.mkdtemp(dir=self.folder)) / "launcher"
                shutil.copytree(launcher.parent, fresh)
                fresh.rename(place)  # at once: a fork may be copying

    def _fork(self, cell: Cell, limits: Limits, options: Mapping[str, object], channel: tuple[int, int]) -> Confined:
        control = self._running()
        (init, init_there), (work, work_there) = socket_pair(), socket_pair()
        work_there.close()  # a worker is spoken to through its channel
        log = log_file()
        orphan = _Orphan()
        confined = Confined(orphan, init, work, log, driver(self._sandbox.compiler))
        try:
            order = {"confinement": self._confinement(cell, limits, options), "environment": dict(cell.environment)}
            socket.send_fds(control, [json.dumps(order).encode()], [init_there.fileno(), *channel, log])
        except OSError as error:
            confined.close()
            self.close_process()  # it is gone; while it lives, a fork that fails must not cost others theirs
            raise SandboxError(f"the process that forks workers is gone ({error.strerror or error})") from error
        finally:
            init_there.close()
        confined.greet()
        orphan.adopt(confined.pid)
        return confined

    def _confinement(self, cell: Cell, limits: Limits, options: Mapping[str, object]) -> list[str]:
        settings = self._sandbox.confinement(cell, limits, options)
        if self._sandbox.mechanism == "limits":
            return [*settings, f"folder={cell.scratch}"]
        return [*settings, "folder=/scratch", f"scratch={cell.scratch}", f"scratches={self.folder}"]

    def _running(self) -> socket.socket:
        """Returns the socket of a zygote that is ready."""
        with self._lock:
            if self._control is None:
                self._control = self._start()
            return self._control

    def _start(self) -> socket.socket:
        library = native(self._sandbox.compiler) / "forked.so"
        reads = (*self._cell.reads, library, Path("/dev/null"))
        variables = {"TMPDIR": str(self.folder), "TRITON_CACHE_DIR": str(self.caches)}
        cell = replace(self._cell, reads=reads, environment={**self._cell.environment, **variables})
        command = (sys.executable, "-I", "-B", str(_PROGRAM), str(library))
        control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log = log_file()
        try:
            self._process = subprocess.Popen(
                self._sandbox.zygote_command(cell, self.folder, command),
                stdin=there.fileno(),
                stdout=log,
                stderr=log,
                env=dict(cell.environment),
                cwd="/",
                start_new_session=True,
            )
            there.close()  # or its end would never be noticed
            control.settimeout(self._timeout_s)
            if not control.recv(16):
                said = os.pread(log, 1 << 14, 0).decode("utf-8", "replace").strip().splitlines()
                raise SandboxError(f"the process that forks workers does not come up: {said[-1:] or 'no message'}")
            control.settimeout(None)
        except OSError as error:
            self._end(control)
            raise SandboxError(f"the process that forks workers does not come up ({error})") from error
        except BaseException:
            self._end(control)
            raise
        finally:
            there.close()
            os.close(log)
        return control

    def close_process(self) -> None:
        """Ends the process and with it, where it has a process namespace, all workers; the next use starts another."""
        with self._lock:
            control, self._control = self._control, None
            if control is not None:
                self._end(control)

    def _end(self, control: socket.socket) -> None:
        control.close()  # it leaves by itself when its parent hangs up
        if self._process is not None:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def close(self) -> None:
        """Ends the process and removes all scratch folders."""
        self.close_process()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Orphan:
    """A process that is no child of this one: what `Confined` needs of `subprocess.Popen`, through a pidfd."""

    def __init__(self) -> None:
        self.pid = 0
        self.returncode: int | None = None
        self._fd = -1

    def adopt(self, pid: int) -> None:
        """Learns who it is."""
        self.pid = pid
        try:
            self._fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self.returncode = 0  # it has ended already

    def poll(self) -> int | None:
        """Returns None while it lives."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end."""
        if self._fd >= 0:
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1e3):
                raise subprocess.TimeoutExpired("fork", timeout or 0.0)
            os.close(self._fd)
            self._fd = -1
        self.returncode = 0
        return 0

    def kill(self) -> None:
        """Kills it."""
        if self._fd >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._fd, signal.SIGKILL)
