"""Processes that run what nobody has vouched for: compilers at work on a candidate, and candidates themselves.

Two mechanisms. *bubblewrap*: user, process, network, mount, IPC and host-name namespaces of its own, a read-only
view of the few folders that are needed. *limits*, where bubblewrap is missing or refused: a session of its own and
Landlock. Both: rlimits, seccomp, an environment by allow-list, no inherited descriptors, a wall clock outside.
`Sandbox.missing` says what this machine lacks.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from .cell import Cell, Completed, Limits
from .compiler import Compiler
from .confined import Confined, log_file, socket_pair
from .disk import too_much, used_bytes
from .errors import SandboxError
from .native import driver, native

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_LOOK_S = 0.5
_FILES = ("/etc/ld.so.cache", "/etc/alternatives")


@dataclass(frozen=True)
class Sandbox:
    """A way to confine a process on this machine.

    Attributes:
        mechanism: ``"bubblewrap"`` or ``"limits"``.
        missing: What could not be had here, in words; empty when everything is in place.
        compiler: Builds the runner.
    """

    mechanism: Literal["bubblewrap", "limits"]
    missing: tuple[str, ...]
    compiler: Compiler

    def start(
        self,
        cell: Cell,
        limits: Limits,
        options: Mapping[str, object],
        command: Sequence[str] = (),
        *,
        arena_fd: int = -1,
        channel: tuple[int, int] | None = None,
    ) -> Confined:
        """Starts the runner in a sandbox; with ``command`` it becomes that, else it serves calls.

        ``channel`` is what a command gets as standard input and output; without it, it reads nothing
        and its output goes to the log.

        Raises:
            SandboxError: It does not come up.
        """
        (init, init_there), (work, work_there) = socket_pair(), socket_pair()
        log = log_file()
        there = [init_there.fileno(), work_there.fileno()] + ([arena_fd] if arena_fd >= 0 else [])
        arguments = self._runner(cell, limits, options, there, command)
        try:
            process = subprocess.Popen(
                self._wrap(cell, arguments),
                stdin=channel[0] if channel else subprocess.DEVNULL,
                stdout=channel[1] if channel else log,
                stderr=log,
                pass_fds=there,
                cwd=cell.scratch or "/",
                env=dict(cell.environment) if self.mechanism == "limits" else {},
                start_new_session=self.mechanism == "limits",
            )
        except OSError as error:
            init.close()
            work.close()
            os.close(log)
            raise SandboxError(f"a sandboxed process cannot be started ({error.strerror or error})") from error
        finally:
            init_there.close()
            work_there.close()
        confined = Confined(process, init, work, log, driver(self.compiler))
        confined.greet()
        return confined

    def run(
        self, command: Sequence[str], cell: Cell, limits: Limits, options: Mapping[str, object] | None = None
    ) -> Completed:
        """Runs ``command`` to its end or to a limit; no process of it is left afterwards.

        Raises:
            SandboxError: The sandbox does not come up.
        """
        start = time.monotonic()
        with self.start(cell, limits, options or {}, command) as confined:
            status, flooded = _watched(confined, cell, limits)
        told = f"\n{too_much(limits.disk_bytes)}" if flooded else ""
        return Completed(status, confined.log + told, time.monotonic() - start, flooded)

    def _runner(
        self,
        cell: Cell,
        limits: Limits,
        options: Mapping[str, object],
        there: Sequence[int],
        command: Sequence[str],
    ) -> list[str]:
        descriptors = dict(zip(("init_fd", "work_fd", "arena_fd"), there, strict=False))
        settings = self.confinement(cell, limits, {**descriptors, **options})
        program = str(native(self.compiler) / "runner")
        return [program, *settings, "--", *command] if command else [program, *settings]

    def confinement(self, cell: Cell, limits: Limits, options: Mapping[str, object]) -> list[str]:
        """Returns what a process must be told to confine itself, as ``key=value``."""
        settings: dict[str, object] = {
            "cpu_s": limits.cpu_s,
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "processes": limits.processes,
            "descriptors": limits.descriptors,
            "seccomp": int("seccomp" not in self.missing),
            **options,
        }
        arguments = [f"{key}={value}" for key, value in settings.items()]
        if self.mechanism == "limits" and "Landlock" not in self.missing:
            readable = [*(_SYSTEM if cell.has_system else ()), *_FILES, "/dev/null", "/dev/urandom"]
            readable += map(str, cell.reads)
            arguments += ["landlock=1", *(f"read={path}" for path in readable)]
            devices = [path for path in cell.reads if path.is_relative_to("/dev")]
            if Path("/proc") in cell.reads:
                devices.append(Path("/proc/self"))  # a GPU's driver names its threads; of others it only reads
            writable = (*([cell.scratch] if cell.scratch else []), *devices, *cell.writes, "/dev/null")
            arguments += [f"write={path}" for path in writable]
            arguments += ["read=/proc", "read=/sys"] if cell.has_proc else []
        return arguments

    def zygote_command(self, cell: Cell, scratches: Path, command: Sequence[str]) -> list[str]:
        """Returns how a trusted process is started that confines forks of its own: see `fitness.device.zygote`.

        What its forks will share is read-only, but for ``scratches``, which holds their folders.
        """
        if self.mechanism == "limits":
            return list(command)
        argv = self._wrap(replace(cell, scratch=None, writes=(*cell.writes, scratches)), list(command))
        # It leaves when its parent hangs up; this flag would look at the thread that happened to start it.
        argv.remove("--die-with-parent")
        at = argv.index("--remount-ro")
        return [*argv[:at], "--dir", "/scratch", *argv[at:]]

    def _wrap(self, cell: Cell, arguments: list[str]) -> list[str]:
        if self.mechanism == "limits":
            return arguments
        argv = [*_bubblewrap(cell.has_system), "--ro-bind", arguments[0], arguments[0]]
        for path in cell.reads:
            if str(path) == "/proc":  # its own: that of the machine would show other processes
                argv += ["--proc", "/proc"]
                continue
            bind = "--dev-bind" if path.is_relative_to("/dev") else "--ro-bind"
            argv += [bind, str(path), _place(path) if cell.has_system else str(path)]
        for name, value in cell.environment.items():
            argv += ["--setenv", name, value]
        argv += ["--proc", "/proc", "--ro-bind", "/sys", "/sys"] if cell.has_proc else []
        for device in ("/dev/null", "/dev/urandom") if cell.scratch else ():
            argv += ["--dev-bind", device, device]
        for path in cell.writes:
            argv += ["--bind", str(path), str(path)]
        if cell.scratch is not None:
            argv += ["--bind", str(cell.scratch), "/scratch", "--chdir", "/scratch"]
        # What bubblewrap mounts all this on is memory that could be filled.
        return [*argv, "--remount-ro", "/", "--", *arguments]


def _place(path: Path) -> str:
    """Returns where a path is mounted; the links below /usr are there and lead where they lead outside."""
    return os.path.realpath(path) if path.is_relative_to("/usr") else str(path)


def _watched(confined: Confined, cell: Cell, limits: Limits) -> tuple[int | None, bool]:
    """Waits for its end or for a limit; returns the wait status, and whether the limit was the disk's."""
    deadline = time.monotonic() + limits.wall_s
    scratch = cell.scratch if limits.disk_bytes else None
    while (left_s := deadline - time.monotonic()) > 0:
        status = confined.wait(left_s if scratch is None else min(left_s, _LOOK_S))
        if status is not None:
            return status, False
        if scratch is not None and used_bytes(scratch, confined.pid) > limits.disk_bytes:
            return None, True
    return None, False


@functools.cache
def _bubblewrap(has_system: bool) -> tuple[str, ...]:
    argv = [shutil.which("bwrap") or "bwrap"]
    argv += [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    argv += ["--uid", "65534", "--gid", "65534", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
    argv += ["--cap-drop", "ALL"]
    for path in _SYSTEM:
        if os.path.islink(path):
            argv += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path) and has_system:
            argv += ["--ro-bind", path, path]
    for path in _FILES:
        if os.path.exists(path):
            argv += ["--ro-bind", path, path]
    return tuple(argv)


@functools.lru_cache(maxsize=4)
def find_sandbox(compiler: Compiler, mechanism: str | None = None) -> Sandbox:
    """Returns the strongest sandbox that works here; each candidate mechanism is tried for real.

    Raises:
        SandboxError: Not even a plain process with limits can be started, or ``mechanism`` does not work.
    """
    candidates: list[Sandbox] = []
    if shutil.which("bwrap"):
        candidates.append(Sandbox("bubblewrap", (), compiler))
        candidates.append(Sandbox("bubblewrap", ("seccomp",), compiler))
    for missing in ((), ("seccomp",), ("Landlock",), ("Landlock", "seccomp")):
        candidates.append(Sandbox("limits", ("namespaces (bubblewrap)", *missing), compiler))
    reason = "no mechanism was tried"
    for sandbox in candidates:
        if mechanism is not None and sandbox.mechanism != mechanism:
            continue
        try:
            done = sandbox.run(("/bin/true",), Cell(scratch=None), Limits(10.0, 5, 1 << 30))
        except SandboxError as error:
            reason = str(error)
            continue
        if done.ok:
            return sandbox
        reason = done.log.strip() or f"wait status {done.status}"
    raise SandboxError(f"no sandbox works here: {reason}")
