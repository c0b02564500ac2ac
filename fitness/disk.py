"""What a process in a sandbox has written: a limit on each file is none on their sum, and a file may be anything."""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import os
import shutil
import stat
import tempfile
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


def too_much(most_bytes: int) -> str:
    """Returns what is said of who was stopped because of `used_bytes`."""
    return f"stopped: its files took more than {most_bytes >> 20} MiB, or cannot be counted"


class Scratch(tempfile.TemporaryDirectory[str]):
    """A temporary folder that goes at the end whatever was put into it."""

    def __init__(self, parent: Path | None = None) -> None:
        super().__init__(prefix="kernelwright-", dir=parent, ignore_cleanup_errors=True)

    def cleanup(self) -> None:
        """Removes it."""
        _flatten(Path(self.name))
        super().cleanup()


def remove(folder: Path) -> None:
    """Removes a folder whatever was put into it; what cannot be removed stays."""
    _flatten(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _flatten(top: Path) -> None:
    """Moves all folders right below ``top``: removing a deep tree takes a call, a file and a longer path a level."""
    waiting, numbers = [top], itertools.count()
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
            with os.scandir(folder) as entries:
                inner = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
            for each in inner:
                place = each if folder == top else top / f".{next(numbers)}.{os.urandom(8).hex()}"
                with contextlib.suppress(OSError):
                    each.rename(place)
                    waiting.append(place)


def read_plain(path: Path, most_bytes: int) -> bytes:
    """Returns the first ``most_bytes`` of a file that somebody may turn into anything at any moment.

    Raises:
        OSError: It is no plain file, or cannot be read.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no plain file", str(path))
        return file.read(most_bytes)
