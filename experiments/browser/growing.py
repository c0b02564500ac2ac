"""The whole lines of a file that another process may still be writing."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from evolve import LineTooLong, next_line

from ..faults import RunError
from .root import Root


class GrowingFile:
    """Gives out every whole line once; a torn last line waits until it is whole.

    Args:
        root: What may be opened.
        path: Of the file, plain or ``.gz``; it need not exist yet.

    Attributes:
        seen: Inode, size and time of the file as it was last read whole; None before that.
    """

    def __init__(self, root: Root, path: Path) -> None:
        self.path = path
        self._root = root
        self._end = 0
        self.seen: tuple[int, int, int] | None = None

    def is_another(self) -> bool:
        """Returns whether the file was replaced or cut since it was last read, so that all must be read again."""
        if self.seen is None:
            return False
        try:
            stat = self.path.stat()
        except OSError:
            return True
        inode, size, mtime_ns = self.seen
        if self.path.suffix == ".gz":
            return (inode, size, mtime_ns) != (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        return inode != stat.st_ino or stat.st_size < size

    def news(self) -> Iterator[tuple[int, bytes]]:
        """Yields the lines that were added since the last call, each with the offset of its first byte.

        Raises:
            RunError: The file is damaged, no plain file, out of the root, or has a line that no run writes.
            OSError: It cannot be read.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return
        if self.seen == (stat.st_ino, stat.st_size, stat.st_mtime_ns):
            return
        try:
            with self._root.open(self.path) as file:
                file.seek(self._end)
                while (line := self._line(file)).endswith(b"\n"):
                    offset, self._end = self._end, self._end + len(line)
                    yield offset, line
        except (EOFError, zlib.error) as fault:
            raise RunError(f"{self.path.name} is damaged: {fault}") from fault
        self.seen = (stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def line_at(self, offset: int) -> bytes:
        """Returns the line that begins at an offset.

        Raises:
            RunError: The file is damaged, or the line is longer than any that a run writes.
            OSError: It cannot be read any more.
        """
        try:
            with self._root.open(self.path) as file:
                file.seek(offset)
                return self._line(file)
        except (EOFError, zlib.error) as fault:
            raise RunError(f"{self.path.name} is damaged: {fault}") from fault

    def _line(self, file: BinaryIO) -> bytes:
        """Reads one line, and of one that is to fill the memory only a part.

        Raises:
            RunError: It is too long.
        """
        try:
            return next_line(file, Path(self.path.name))
        except LineTooLong as fault:
            raise RunError(f"{fault}; the file is not read on") from fault
