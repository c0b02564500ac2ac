"""Runs a command and takes it down, with everything it started, when the parent is gone.

Usage: python -I -S leash.py GRACE_S COMMAND…        with the read end of a pipe as standard input

The parent holds the pipe's other end. When it closes, because the parent asks for it or because it
died in whatever way, the command's process group gets SIGTERM, and after GRACE_S seconds whatever
is left of the command's descendants gets SIGKILL, also those that left the group: this process is
their reaper. Self-contained, because it runs by path and outlives the toolkit's process.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def descendants() -> list[int]:
    """Returns the processes below this one, by the kernel's table."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def signalled(pids: list[int], number: int) -> None:
    """Sends a signal to processes that may be gone already."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def take_down(command: subprocess.Popen[bytes], grace_s: float) -> None:
    """Ends the command and all its descendants; returns when none is left."""
    signalled(descendants(), signal.SIGTERM)
    limit = time.monotonic() + grace_s
    while descendants():
        command.poll()
        reap()
        if time.monotonic() > limit:
            signalled(descendants(), signal.SIGKILL)
        time.sleep(0.05)


def reap() -> None:
    """Collects ended descendants that were left to us."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def main() -> int:
    """Runs the command; returns its exit status."""
    grace_s, argv = float(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a Ctrl-C is the parent's affair
    parent = os.getppid()

    def tie() -> None:
        # Should this process itself be killed, the command goes with it.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    try:
        command = subprocess.Popen(argv, stdin=subprocess.DEVNULL, preexec_fn=tie)  # noqa: PLW1509 - one thread only
    except OSError as error:
        sys.stdout.write(f"Error: cannot run {argv[0]!r}: {error.strerror}; set llm.command\n")
        return 127
    alive = True
    while alive and command.poll() is None:
        readable, _, _ = select.select([0], [], [], 0.25)
        # A forked relative may hold the pipe open: a new parent means that the old one is dead.
        if (readable and not os.read(0, 1)) or os.getppid() != parent:
            alive = False
    # What a server leaves behind that ended by itself has nothing left to do in peace.
    take_down(command, min(grace_s, 2.0) if alive else grace_s)
    return command.poll() or 0


if __name__ == "__main__":
    sys.exit(main())
