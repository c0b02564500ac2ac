"""The journal's file: whole lines or nothing, one writer, a torn last line forgiven."""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .errors import JournalCorrupt, JournalError, JournalLocked, JournalUnwritable, LineTooLong
from .lines import Readable, whole_lines

JSON = dict[str, Any]

NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS})
"""What a file system says that cannot lock; there the user alone can keep two runs apart."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One whole line.

    Attributes:
        number: From 1.
        offset: Of its first byte.
        end: Offset of the byte after it.
        data: What it holds.
    """

    number: int
    offset: int
    end: int
    data: JSON


class JournalFile:
    """An append-only file of lines.

    Args:
        path: Made with its folder when it is writable and absent.
        writable: Whether lines will be appended; then the file is locked.

    Raises:
        JournalLocked: Another process holds it.
        JournalUnwritable: It cannot be opened for writing.
        JournalError: It cannot be opened for reading.
    """

    def __init__(self, path: Path, writable: bool) -> None:
        self._path = path
        self._writable = writable
        self._file = _open_writable(path) if writable else _open_readable(path)
        self._fd = self._file.fileno()
        self._end = os.fstat(self._fd).st_size
        self._synced = self._end
        self._failed = ""

    def entries(self) -> Iterator[Entry]:
        """Yields the whole lines in order; a last line without its end is left out.

        Raises:
            JournalCorrupt: A line is no JSON object.
        """
        self._file.seek(0)
        return _entries(self._file, self._path)

    def read(self, offset: int) -> bytes:
        """Returns the line that begins at ``offset``."""
        parts: list[bytes] = []
        while True:
            part = os.pread(self._fd, 1 << 14, offset)
            newline = part.find(b"\n")
            if newline >= 0 or not part:
                return b"".join([*parts, part[: newline + 1]])
            parts.append(part)
            offset += len(part)

    def append(self, line: bytes) -> int:
        """Writes one line and returns its offset.

        Raises:
            JournalUnwritable: It could not be written whole; then none of it stays in the file.
        """
        if self._failed:
            raise JournalUnwritable(self._failed)
        offset, view = self._end, memoryview(line)
        try:
            while view:
                view = view[os.pwrite(self._fd, view, self._end + len(line) - len(view)) :]
        except OSError as error:
            self._fail(error)
        self._end += len(line)
        return offset

    def drop_after(self, end: int) -> None:
        """Cuts off what a killed writer left behind the last whole line."""
        if self._writable and end < self._end:
            os.ftruncate(self._fd, end)
            self._end = end

    def sync(self) -> None:
        """Waits for the disk, if there is anything new.

        Raises:
            JournalUnwritable: It refuses.
        """
        if self._failed or self._end == self._synced:
            return
        try:
            os.fsync(self._fd)
        except OSError as error:
            self._fail(error)
        self._synced = self._end

    def close(self) -> None:
        """Closes the file and lets go of its lock."""
        if not self._file.closed:
            self._failed = self._failed or f"{self._path}: the journal is closed"
            self._file.close()

    def _fail(self, error: OSError) -> None:
        """Takes back the torn line, refuses all later ones, and says what to do."""
        self._failed = (
            f"{self._path}: cannot be written ({error.strerror}); all answers before are safe: "
            "make room, then run the same command again to resume"
        )
        os.ftruncate(self._fd, self._end)
        raise JournalUnwritable(self._failed) from error


def scan(path: Path) -> Iterator[Entry]:
    """Yields the whole lines of a stored journal, without locking it.

    Raises:
        JournalCorrupt: A line before the last cannot be read.
        JournalError: The file cannot be opened.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from _entries(file, path)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


_HINT = "restore the file, or use a new run directory"


def _entries(file: Readable, path: Path) -> Iterator[Entry]:
    offset = 0
    for number, line in _numbered(file, path):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise JournalCorrupt(f"{path}: line {number} cannot be read; {_HINT}", number) from error
        if not isinstance(data, dict):
            raise JournalCorrupt(f"{path}: line {number} is no JSON object", number)
        yield Entry(number, offset, offset + len(line), data)
        offset += len(line)


def _numbered(file: Readable, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the whole lines with their numbers.

    Raises:
        JournalCorrupt: One is too long.
    """
    number = 0
    try:
        for number, line in enumerate(whole_lines(file, path), start=1):
            yield number, line
    except LineTooLong as error:
        raise JournalCorrupt(f"{error}; {_HINT}", number + 1) from error


def _open_writable(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        raise JournalUnwritable(f"{path}: a compressed journal can only be replayed; unpack it to go on")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b", buffering=1 << 16)
    except OSError as error:
        raise JournalUnwritable(f"{path}: cannot be opened ({error.strerror}); choose a writable folder") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return file
        file.close()
        raise JournalLocked(f"{path}: another process is running in this folder; wait for it or use another") from error
    return file


def _open_readable(path: Path) -> BinaryIO:
    try:
        if path.suffix == ".gz":
            # Answers are read by position, which a compressed stream cannot do.
            with ExitStack() as stack:
                packed = stack.enter_context(gzip.open(path))
                unpacked = stack.enter_context(tempfile.TemporaryFile())
                unpacked.writelines(line for _, line in _numbered(packed, path))
                unpacked.seek(0)
                stack.pop_all()  # it lives as long as the journal
                packed.close()
            return unpacked
        return path.open("rb")
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> JournalError:
    return JournalError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})")
