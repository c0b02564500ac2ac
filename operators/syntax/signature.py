"""The signature of a function: what an edit must never change of the entry point."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from .tree import Tree, walk

_PROMISES = re.compile(
    rb"\b__restrict(__)?\b|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|__launch_bounds__\s*\([^)]*\)"
)


def signature(tree: Tree, entry_point: str) -> tuple[str, ...]:
    """Returns what callers see of every definition of ``entry_point``, without white space and promises.

    ``__restrict__``, attributes and launch bounds are promises to the compiler; they do not count.
    """
    name = entry_point.encode("utf-8", "surrogatepass")
    found = []
    for node in _functions(tree.root):
        body = node.child_by_field_name("body")
        head = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        if body is None or head is None or not any(tree.text(each) == name for each in walk(head)):
            continue
        linkage = node.parent is not None and node.parent.type == "linkage_specification"
        text = _PROMISES.sub(b" ", tree.source[node.start_byte : body.start_byte])
        found.append(f"{linkage} {' '.join(text.decode('utf-8', 'replace').split())}")
    return tuple(found)


def _functions(root: Node) -> Iterator[Node]:
    """Yields the outermost functions in the order of the text; it never looks into one."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "function_definition":
            yield node
        else:
            stack.extend(reversed(node.named_children))
