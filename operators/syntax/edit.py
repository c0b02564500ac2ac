"""Edits: replacements of byte ranges, so that whatever is not replaced stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node

from .scope import declared_names, num_undeclared
from .signature import signature
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


def applied(edit: Edit, tree: Tree, entry_point: str) -> str | None:
    """Returns the edited source; None when the edit may not be.

    It may not when it changes nothing, adds syntax errors, changes the signature of ``entry_point``, or names a
    variable where it is not declared.
    """
    source = edit.apply(tree.source)
    if source == tree.source:
        return None
    text = source.decode()
    return text if is_sound(parse(text, tree.grammar), tree, entry_point) else None


def is_sound(child: Tree, parent: Tree, entry_point: str) -> bool:
    """Whether ``child`` has no more faults that a tree shows than ``parent``, and the same entry point."""
    if child.num_errors > parent.num_errors or signature(child, entry_point) != signature(parent, entry_point):
        return False
    if parent.grammar == "python":
        return True
    known = declared_names(child) | declared_names(parent)
    return num_undeclared(child, known) <= num_undeclared(parent, known)


def _with_line_ends(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
