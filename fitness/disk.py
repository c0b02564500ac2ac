"""What a process in a sandbox has written: a limit on each file is none on their sum."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MOST_FILES = 1 << 17
_RACES = {errno.ENOENT, errno.ENOTDIR, errno.ESRCH}


def used_bytes(folder: Path, pid: int) -> float:
    """Returns what files below ``folder`` take, and files without a name that ``pid`` or its descendants hold open.

    Infinite where that cannot be counted: too many files, or folders that are hidden from this process.
    """
    try:
        device = folder.stat().st_dev
        sizes = {(each.st_dev, each.st_ino): 512 * each.st_blocks for each in (*_named(folder), *_unnamed(pid, device))}
    except OSError as error:
        return 0.0 if error.errno in _RACES else math.inf
    return float(sum(sizes.values())) if len(sizes) < _MOST_FILES else math.inf


def _named(folder: Path) -> Iterator[os.stat_result]:
    """Yields what lies below ``folder``, whoever removes it meanwhile; ends early when it is far too much.

    Raises:
        OSError: A folder cannot be looked into.
    """
    seen, waiting = 0, [os.fspath(folder)]
    while waiting and seen < _MOST_FILES:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.stat(follow_symlinks=False)
                        seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    if seen >= _MOST_FILES:
                        return
        except OSError as error:
            if error.errno not in _RACES:
                raise


def _unnamed(pid: int, device: int) -> Iterator[os.stat_result]:
    """Yields the files of a file system that ``pid`` and its descendants have open and nobody can find by name."""
    waiting = [str(pid)]
    while waiting:
        folder = Path("/proc", waiting.pop())
        with contextlib.suppress(OSError):
            for task in (folder / "task").iterdir():
                waiting += (task / "children").read_text().split()
        with contextlib.suppress(OSError):
            for descriptor in (folder / "fd").iterdir():
                with contextlib.suppress(OSError):
                    found = descriptor.stat()
                    if stat.S_ISREG(found.st_mode) and found.st_nlink == 0 and found.st_dev == device:
                        yield found
