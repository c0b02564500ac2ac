"""Concrete syntax trees of sources, parsed once each."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import TypeVar

import tree_sitter
import tree_sitter_cpp
import tree_sitter_cuda
import tree_sitter_python
from tree_sitter import Node

T = TypeVar("T")

_GRAMMARS: dict[str, Callable[[], object]] = {
    "cpp": tree_sitter_cpp.language,
    "cuda": tree_sitter_cuda.language,
    "opencl": tree_sitter_cpp.language,
    "python": tree_sitter_python.language,
}


_QUALIFIERS = re.compile(rb"\b(?:__)?(?:kernel|global|local|constant|private)\b(?!\s*\()")
"""Words of OpenCL C that no grammar of C++ knows; the tree is that of the source without them."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A parsed source. Positions are byte offsets, as in tree-sitter.

    Attributes:
        source: The text in UTF-8.
        grammar: ``"cpp"``, ``"cuda"``, ``"opencl"`` or ``"python"``.
        root: The root node.
    """

    source: bytes
    grammar: str
    root: Node

    @cached_property
    def by_type(self) -> dict[str, list[Node]]:
        """Every named node in the order of the text, grouped by type."""
        found: dict[str, list[Node]] = {}
        for node in walk(self.root):
            found.setdefault(node.type, []).append(node)
        return found

    @cached_property
    def num_errors(self) -> int:
        """How many places the grammar could not make sense of."""
        if not self.root.has_error:
            return 0
        return sum(node.is_error or node.is_missing for node in _walk_all(self.root))

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Every identifier in the source."""
        kinds = ("identifier", "field_identifier", "type_identifier", "namespace_identifier")
        return frozenset(self.text(node) for kind in kinds for node in self.by_type.get(kind, ()))

    def of(self, *types: str) -> list[Node]:
        """Returns the nodes of these types, in the order of the types and then of the text."""
        return [node for kind in types for node in self.by_type.get(kind, ())]

    def text(self, node: Node) -> bytes:
        """Returns the source of ``node``."""
        return self.source[node.start_byte : node.end_byte]

    def line(self, position: int) -> int:
        """Returns the number of the line that holds ``position``, from 1."""
        return self.source.count(b"\n", 0, position) + 1

    def indent(self, position: int) -> bytes:
        """Returns the white space that the line of ``position`` begins with."""
        start = self.source.rfind(b"\n", 0, position) + 1
        line = self.source[start:position]
        return line[: len(line) - len(line.lstrip(b" \t"))]

    def fresh(self, stem: str) -> str:
        """Returns ``stem``, or ``stem`` with a number, so that no identifier of the source has it."""
        name, number = stem, 1
        while name.encode() in self.words:
            number += 1
            name = f"{stem}{number}"
        return name


def walk(node: Node) -> Iterator[Node]:
    """Yields ``node`` and its named descendants in the order of the text; never recursive."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.named_children))


def per_tree(function: Callable[[Tree], T]) -> Callable[[Tree], T]:
    """Makes a function of a tree remember its answer for as long as the tree lives."""
    known: weakref.WeakKeyDictionary[Tree, T] = weakref.WeakKeyDictionary()

    @wraps(function)
    def remembered(tree: Tree) -> T:
        if tree not in known:
            known[tree] = function(tree)
        return known[tree]

    return remembered


def ancestors(node: Node) -> Iterator[Node]:
    """Yields the parent of ``node``, its parent, and so on."""
    current = node.parent
    while current is not None:
        yield current
        current = current.parent


@lru_cache(maxsize=64)  # a population and its latest children; a tree is some thousand objects
def parse(source: str, grammar: str) -> Tree:
    """Returns the tree of ``source``; every text has one, if with errors.

    Args:
        source: The text of a kernel.
        grammar: ``"cpp"``, ``"cuda"``, ``"opencl"`` or ``"python"``.

    Raises:
        UnicodeEncodeError: It holds half of a surrogate pair, and can be written to no file.
    """
    encoded = source.encode()
    parser = tree_sitter.Parser(_language(grammar))  # one a call: parsers are not for sharing between threads
    read = _QUALIFIERS.sub(lambda word: b" " * len(word.group()), encoded) if grammar == "opencl" else encoded
    return Tree(encoded, grammar, parser.parse(read).root_node)


@lru_cache(maxsize=8)
def _language(grammar: str) -> tree_sitter.Language:
    return tree_sitter.Language(_GRAMMARS[grammar]())


def _walk_all(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(current.children)
