"""The control that changes nothing: what a search finds with it is noise."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fitness import Kernel

from .operator import Brief, Parent, Proposal

_LABEL = re.compile(r"(?:\r?\n)?(?://|#) renamed copy [0-9a-f]{12}(?:\r?\n)?\Z")


class Identity:
    """Returns its parent under another digest: the last line becomes a comment with a number.

    An A/A search with it shows what a system takes for progress where there is none.
    """

    name = "identity"
    arity = 1
    memory: frozenset[str] = frozenset()
    takes_failures = False

    def propose(self, parents: Sequence[Parent], brief: Brief, rng: np.random.Generator) -> Proposal:
        """Returns a copy that differs in a comment; copies of copies do not grow."""
        parent = parents[0].kernel
        mark = "#" if brief.language.grammar == "python" else "//"
        body = _LABEL.sub("", parent.source)
        number = int(rng.integers(1 << 48))
        line_end = "\r\n" if "\r\n" in body else "\n"
        source = f"{body}{line_end}{mark} renamed copy {number:012x}{line_end}"
        return Proposal(
            Kernel(source, parent.language, parent.entry_point), self.name, (parent.digest,), note="renamed copy"
        )
