"""A person's command: run in a folder, in a process group of its own, with limits on its time and on what it prints."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from .evaluation import JSON, Status
from .logs import plain
from .session import Failed

MOST_SHOWN = 6000
"""Characters of what a command prints that people and models see: the last."""

_MOST_BYTES = 1 << 26  # that a command may print
_LOOK_S = 0.5


def run_command(argv: Sequence[str], folder: Path, timeout_s: float, late: Status) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; what it leaves running in its process group is ended with it.

    Args:
        argv: The words.
        folder: Where it runs.
        timeout_s: Wall clock.
        late: What it is to take longer.

    Raises:
        Failed: It takes longer, or prints too much.
        OSError: It does not start.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:  # a pipe may be held by who stays behind
        process = subprocess.Popen(
            argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        try:
            is_late = not _ends(process, timeout_s, (out, err))
        finally:  # also when this program is stopped
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if is_late:
            raise Failed(late, f"stopped after {timeout_s:g} s")
        if max(map(_size, (out, err))) > _MOST_BYTES:
            raise Failed(Status.NO_RESULT, f"stopped: it printed more than {_MOST_BYTES >> 20} MiB")
        return subprocess.CompletedProcess(argv, process.returncode, _text(out), _text(err))


def words(done: subprocess.CompletedProcess[str]) -> str:
    """Returns the end of what a command printed, for people and models."""
    return plain((done.stdout + done.stderr)[-MOST_SHOWN:], MOST_SHOWN)


def end(done: subprocess.CompletedProcess[str]) -> str:
    """Returns how a command ended, in words."""
    code = done.returncode
    return f"ended by signal {-code}" if code < 0 else f"ended with exit status {code}"


def last_object(done: subprocess.CompletedProcess[str]) -> JSON | None:
    """Returns the JSON object in the last line that a command printed; None where there is something else."""
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError, RecursionError):  # nothing, no JSON, brackets within brackets
        return None
    return answer if isinstance(answer, dict) else None


def _ends(process: subprocess.Popen[bytes], timeout_s: float, printed: Sequence[IO[bytes]]) -> bool:
    """Returns whether a process ends in time, or prints too much; it is not reaped, so its group is still its own."""
    deadline = time.monotonic() + timeout_s
    ended = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        while (left_s := deadline - time.monotonic()) > 0:
            if poll.poll(min(left_s, _LOOK_S) * 1e3) or max(map(_size, printed)) > _MOST_BYTES:
                return True
        return False
    finally:
        os.close(ended)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
