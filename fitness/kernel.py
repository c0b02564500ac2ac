"""The genotype."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import TaskError

_MOST_BYTES = 1 << 24  # many times evaluator.source_bytes, which judges what is read


@dataclass(frozen=True)
class Kernel:
    """Source text of one kernel: the genotype.

    Attributes:
        source: The complete text of one file.
        language: Name of a language, e.g. ``"cpp"``.
        entry_point: Function or symbol that is called.
    """

    source: str
    language: str
    entry_point: str = "kernel"

    @cached_property
    def digest(self) -> str:
        """Hex digest of all fields, separated by NUL, so that no two splits of a text agree."""
        fields = "\0".join((self.language, self.entry_point, self.source))
        return hashlib.sha256(fields.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_source(path: Path) -> str:
    """Returns the text of a person's file, without the byte order mark that some editors write and NVRTC does not know.

    Raises:
        TaskError: There is no such file, it holds no text, or far too much.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise TaskError(f"{path} is no plain file")  # a device or a pipe may have no end
        if path.is_file() and (size := path.stat().st_size) > _MOST_BYTES:
            raise TaskError(f"{path} has {size >> 20} MiB; the source of a kernel has {_MOST_BYTES >> 20} at most")
        source = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise TaskError(f"{path} does not exist") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror or error}") from error
    if not source.strip():
        raise TaskError(f"{path} is empty; it must hold the source of one kernel")
    return source
