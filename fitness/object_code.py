"""What of a built object makes it what it is."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_ALLOCATED = 2
_NOTE, _NO_BITS = 7, 8


def code_digest(path: Path) -> str:
    """Returns a hex digest of what is loaded of an object: code and data.

    Debug information, symbol tables and notes stay out: names, line numbers and build ids are there, so
    that comments or layout would change them. Of a file that is no ELF object, every byte counts.
    """
    data = path.read_bytes()
    state = hashlib.sha256()
    try:
        parts = list(_loaded(data)) if data.startswith(_ELF64_LITTLE) else []
    except (struct.error, OverflowError):  # section headers that lie
        parts = []
    for part in parts or [data]:
        state.update(len(part).to_bytes(8, "little") + part)
    return state.hexdigest()


def _loaded(data: bytes) -> Iterator[bytes]:
    """Yields type, flags and size of every section of an ELF file that is loaded, and its bytes."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    left = len(data)  # sections that overlap would make a small file long work
    for number in range(count):
        _, kind, flags, _, offset, length = struct.unpack_from("<IIQQQQ", data, table + number * size)
        if flags & _ALLOCATED and kind != _NOTE:
            yield struct.pack("<IQQ", kind, flags, length)
            left -= length if kind != _NO_BITS else 0
            if left < 0:
                raise OverflowError("more bytes in sections than in the file")
            yield b"" if kind == _NO_BITS else data[offset : offset + length]
