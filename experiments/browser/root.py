"""Files below one folder, and no others: what a page may show of the disk."""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..faults import RunError

SMALL_BYTES = 4_000_000
"""Files that are read at once are smaller than this; a configuration has a few thousand bytes."""


class Root:
    """Opens plain files below a folder for reading.

    Args:
        path: The folder.

    Raises:
        RunError: There is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise RunError(f"{path}: no such folder; give one that holds runs, e.g. runs")
        self.path = path.resolve()
        self._prefix = os.path.join(self.path, "")

    @contextmanager
    def open(self, path: Path) -> Iterator[BinaryIO]:
        """Opens a file; what ends in ``.gz`` is unpacked while it is read.

        Raises:
            FileNotFoundError: There is none.
            RunError: It is a link that leads out of the folder, or no plain file.
            OSError: It cannot be read.
        """
        # Without O_NONBLOCK, opening a named pipe would wait for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RunError(f"{path.name} is no plain file")
            if not _real(file.fileno(), path).startswith(self._prefix):
                raise RunError(f"{path.name} is a link that leads out of {self.path}, and is not followed")
            yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file

    def read(self, path: Path) -> bytes:
        """Returns the content of a small file.

        Raises:
            FileNotFoundError: There is none.
            RunError: It is too large, no plain file, or out of the folder.
            OSError: It cannot be read.
        """
        with self.open(path) as file:
            content = file.read(SMALL_BYTES + 1)
        if len(content) > SMALL_BYTES:
            raise RunError(f"{path.name} is larger than {SMALL_BYTES:,} bytes, and is not read")
        return content


def _real(descriptor: int, path: Path) -> str:
    """Returns where an open file really is; what was opened is asked, so nobody can swap it in between."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.path.realpath(path)
