"""One GPU for each run, none for two: whoever launches runs side by side, they share out the GPUs among themselves."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fitness import TargetUnavailable
from fitness.targets import amd, nvidia

from .faults import ConfigError
from .model import GPU_VARIABLES

log = logging.getLogger(__name__)

POLL_S = 0.5
SILENT_S = 2.0


def names_of(gpus: Sequence[object] | str, key: str = "gpus") -> tuple[str, ...]:
    """Returns what drivers call the GPUs that are given by number, or by the word ``all``.

    Raises:
        ConfigError: They are no different whole numbers, or there is no GPU.
    """
    if gpus == "all":
        with suppress(TargetUnavailable):
            return nvidia.gpus()
        with suppress(TargetUnavailable):
            return amd.gpus()
        raise ConfigError(f"{key}=all: neither nvidia-smi nor rocminfo finds a GPU here; give numbers such as 0,1")
    numbers = [each for each in gpus if isinstance(each, int) and not isinstance(each, bool) and each >= 0]
    if not numbers or len({*numbers}) != len(gpus):
        raise ConfigError(f"{key}: give different whole numbers such as [0,1], or all; is {gpus!r}")
    return tuple(str(number) for number in numbers)


@contextmanager
def own_gpu(gpus: Sequence[int] | str | None) -> Iterator[str | None]:
    """Takes one of the GPUs for this run, and makes it the only one that the run's processes see.

    A GPU is taken by a lock that the system gives back when its holder dies, however it dies. It is seen by all
    processes of this user on this machine, so two sweeps share the GPUs too.

    Args:
        gpus: Numbers, or ``"all"``; None to take none and leave everything as it is.

    Yields:
        What drivers call the GPU; None without one.

    Raises:
        ConfigError: See `names_of`.
        OSError: The folder of the locks cannot be used.
    """
    if gpus is None:
        yield None
        return
    name, held = _wait_for_one(names_of(gpus))
    before = {variable: os.environ.get(variable) for variable in GPU_VARIABLES}
    os.environ.update(dict.fromkeys(GPU_VARIABLES, name))
    log.info("this run has GPU %s for itself", name)
    try:
        yield name
    finally:
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
        os.close(held)


def _wait_for_one(names: Sequence[str]) -> tuple[str, int]:
    """Returns a GPU and the lock on it; says so when this takes long."""
    begin_s, told = time.monotonic(), False
    while True:
        for name in names:
            held = _try(name)
            if held is not None:
                return name, held
        if not told and time.monotonic() - begin_s > SILENT_S:
            print(f"waiting: other runs have GPU {', '.join(names)}", file=sys.stderr, flush=True)
            told = True
        time.sleep(POLL_S)


def _try(name: str) -> int | None:
    """Returns the lock on a GPU; None when another process holds it."""
    held = os.open(lock_folder() / f"gpu_{name.replace('/', '_')}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    return held


def lock_folder() -> Path:
    """Returns this user's folder of locks: on this machine's own disk, as a home may be shared by many machines.

    Raises:
        PermissionError: Another user made it.
    """
    folder = Path(tempfile.gettempdir()) / f"kernelwright-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(1, "belongs to another user; set TMPDIR", str(folder))
    return folder
