"""The whole lines of a file of records, and never one that would fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Protocol

from .errors import LineTooLong

LONGEST_LINE_BYTES = 32_000_000
"""No line of a run is so long: a generation of 20,000 candidates has half of it."""


class Readable(Protocol):
    """A file that is open for reading bytes, compressed or not."""

    def readline(self, size: int = -1, /) -> bytes:
        """Reads a line, or its first ``size`` bytes."""


def whole_lines(file: Readable, path: Path) -> Iterator[bytes]:
    """Yields the lines of an open file from its first; a last line without its end is left out.

    Args:
        file: Opened for reading bytes.
        path: Of the file, for people.

    Raises:
        LineTooLong: A line has more than `LONGEST_LINE_BYTES`.
        OSError: The file cannot be read.
    """
    for number in count(1):
        line = file.readline(LONGEST_LINE_BYTES + 1)
        if not line.endswith(b"\n") or len(line) > LONGEST_LINE_BYTES:
            _check(line, path, f"line {number}")
            return
        yield line


def next_line(file: Readable, path: Path) -> bytes:
    """Reads one line; see `whole_lines`.

    Raises:
        LineTooLong: It is too long, and only its beginning was read.
        OSError: The file cannot be read.
    """
    line = file.readline(LONGEST_LINE_BYTES + 1)
    _check(line, path, "a line")
    return line


def _check(line: bytes, path: Path, which: str) -> None:
    if len(line) > LONGEST_LINE_BYTES:
        raise LineTooLong(f"{path}: {which} is longer than {LONGEST_LINE_BYTES:,} bytes, which no line of a run is")
