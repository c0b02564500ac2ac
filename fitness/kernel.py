"""The genotype."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import TaskError


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
        TaskError: It cannot be read, or is no UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror or error}") from error
