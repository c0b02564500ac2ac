"""What local names stand for: integers that are polynomials of others, pointers into arrays."""

from __future__ import annotations

from collections.abc import Mapping

from tree_sitter import Node

from .names import Name, names
from .polynomial import Polynomial, added, polynomial, words
from .tree import Tree, per_tree

_MAX_DEPTH = 40


@per_tree
def definitions(tree: Tree) -> Mapping[bytes, Polynomial]:
    """Returns the integer variables that are set once, where they are declared, to a polynomial of others."""
    known: dict[bytes, Polynomial] = {}
    for name in _constant_names(tree):
        value = name.declarator.child_by_field_name("value")
        found = polynomial(tree, value, known) if value is not None and name.kind == "int" else None
        if found is not None and not _mentioned(found) & _assigned(tree):
            known[name.text] = found
    return known


@per_tree
def origins(tree: Tree) -> Mapping[bytes, tuple[bytes, Polynomial]]:
    """Returns the local pointers that are set once, with the array they point into and the offset."""
    known: dict[bytes, tuple[bytes, Polynomial]] = {}
    for name in _constant_names(tree):
        value = name.declarator.child_by_field_name("value")
        found = _origin(tree, value, known) if value is not None and name.kind.endswith("*") else None
        if found is not None:
            known[name.text] = found
    return known


@per_tree
def unknown_pointers(tree: Tree) -> frozenset[bytes]:
    """Returns the local pointers of which nobody knows where they point."""
    local = {
        name.text for name in names(tree) if not name.is_parameter and b"*" in tree.text(name.declarator).split(b"=")[0]
    }
    return frozenset(local - {*origins(tree)})


def index_nodes(target: Node) -> list[Node]:
    """Returns the index expressions of a subscript, of all levels of ``a[i][j]``; nothing for a plain variable."""
    found: list[Node] = []
    current: Node | None = target
    while current is not None and current.type == "subscript_expression":
        indices = current.child_by_field_name("indices")
        found[:0] = indices.named_children if indices is not None else []
        current = current.child_by_field_name("argument")
    return found


@per_tree
def _assigned(tree: Tree) -> frozenset[bytes]:
    """Returns the variables that are assigned anywhere but in the head of a loop."""
    return frozenset(name for name, in_head in _assignments(tree) if not in_head)


@per_tree
def _stepped(tree: Tree) -> frozenset[bytes]:
    """Returns the variables that the heads of loops step."""
    return frozenset(name for name, in_head in _assignments(tree) if in_head)


def _assignments(tree: Tree) -> list[tuple[bytes, bool]]:
    found = []
    for node in tree.of("assignment_expression", "update_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        parent = node.parent
        in_head = parent is not None and parent.type == "for_statement" and parent.child_by_field_name("update") == node
        if target is not None:
            found.append((tree.text(target), in_head))
    return found


def _constant_names(tree: Tree) -> list[Name]:
    """Returns the local variables that are declared once, with a value, and never assigned."""
    counts: dict[bytes, int] = {}
    for name in names(tree):
        counts[name.text] = counts.get(name.text, 0) + 1
    assigned = _assigned(tree) | _stepped(tree)
    return [
        name
        for name in names(tree)
        if counts[name.text] == 1 and name.text not in assigned and name.declarator.type == "init_declarator"
    ]


def _origin(
    tree: Tree, value: Node, known: Mapping[bytes, tuple[bytes, Polynomial]], depth: int = 0
) -> tuple[bytes, Polynomial] | None:
    if depth > _MAX_DEPTH:
        return None
    if value.type == "identifier":
        name = tree.text(value)
        return None if name in _assigned(tree) else known.get(name, (name, {}))
    base, offset = None, None
    if value.type == "binary_expression":
        left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
        operator = value.child_by_field_name("operator")
        if left is not None and right is not None and operator is not None and tree.text(operator) == b"+":
            base, offset = _origin(tree, left, known, depth + 1), _steady(tree, right)
    elif value.type == "pointer_expression" and tree.text(value).startswith(b"&"):
        element = value.child_by_field_name("argument")
        inner = element.child_by_field_name("argument") if element is not None else None
        if element is not None and inner is not None and len(index_nodes(element)) == 1:
            base, offset = _origin(tree, inner, known, depth + 1), _steady(tree, index_nodes(element)[0])
    return (base[0], added(base[1], offset)) if base is not None and offset is not None else None


def _steady(tree: Tree, value: Node) -> Polynomial | None:
    """Returns the polynomial of a value, or None where one of its variables may have changed since."""
    found = polynomial(tree, value, definitions(tree))
    return found if found is not None and not _mentioned(found) & _assigned(tree) else None


def _mentioned(of: Polynomial) -> set[bytes]:
    return {word for monomial in of for factor in monomial for word in words(factor)}
