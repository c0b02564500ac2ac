"""Edits: replacements of byte ranges, so that whatever is not replaced stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node

from .tree import Tree, parse


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacements of byte ranges of one source.

    Attributes:
        replacements: ``(start, end, text)``; ranges do not overlap. Equal starts are applied in their order.
        note: What it does, for people.
    """

    replacements: tuple[tuple[int, int, bytes], ...]
    note: str

    def apply(self, source: bytes) -> bytes:
        """Returns the edited source, with the source's own line ends.

        Raises:
            ValueError: Two ranges overlap.
        """
        crlf = b"\r\n" in source
        pieces: list[bytes] = []
        position = 0
        for start, end, text in sorted(self.replacements, key=lambda each: each[:2]):
            if start < position:
                raise ValueError(f"the edit {self.note!r} replaces byte {start} twice")
            pieces += [source[position:start], _with_line_ends(text) if crlf else text]
            position = end
        return b"".join([*pieces, source[position:]])


Kind = Callable[[Tree, np.random.Generator], Edit | None]
"""A kind of edit: proposes one for a tree, or None where it finds nothing to do."""


def replace(node: Node, text: bytes, note: str) -> Edit:
    """Returns the edit that puts ``text`` in place of ``node``."""
    return Edit(((node.start_byte, node.end_byte, text),), note)


def applied(edit: Edit, tree: Tree) -> str | None:
    """Returns the edited source, or None when it is unchanged or has more syntax errors than before."""
    source = edit.apply(tree.source)
    if source == tree.source:
        return None
    try:
        text = source.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a broken source whose tree has nodes within a character
        return None
    return text if parse(text, tree.grammar).num_errors <= tree.num_errors else None


def _with_line_ends(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
