"""The genotype."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property


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
