"""What a piece of C-like code reads and writes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from .definitions import definitions, index_nodes, origins, unknown_pointers
from .dependence import Access, Effects
from .folds import folded, guarded_extreme
from .names import function_name, is_math
from .polynomial import Polynomial, added, polynomial
from .tree import Tree, per_tree

_JUMPS = frozenset({"break_statement", "continue_statement", "return_statement", "goto_statement", "throw_statement"})
_OPAQUE = frozenset(
    {"pointer_expression", "lambda_expression", "new_expression", "delete_expression", "gnu_asm_expression", "ERROR"}
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at one place of the text.

    Attributes:
        position: Of its node, in bytes.
        kind: ``"scalar"``, ``"array"``, ``"declared"``, ``"opaque"`` or ``"jump"``.
        name: Of the variable, if it is about one.
        access: If it is an access.
    """

    position: int
    kind: str
    name: bytes = b""
    access: Access | None = None


def effects(tree: Tree, *pieces: Node) -> Effects:
    """Returns what pieces of code read and write."""
    found = Effects()
    for piece in pieces:
        for event in _events_in(tree, piece):
            if event.kind == "declared":
                found.declared.add(event.name)
            elif event.kind == "opaque":
                found.is_opaque = True
            elif event.kind == "jump":
                found.has_jump = True
            elif event.access is not None:
                table = found.scalars if event.kind == "scalar" else found.arrays
                table.setdefault(event.name, []).append(event.access)
    return found


def changed_names(tree: Tree, piece: Node) -> set[bytes]:
    """Returns every variable and array that a piece of code writes, its own ones included."""
    return {event.name for event in _events_in(tree, piece) if event.access is not None and event.access.update}


def _events_in(tree: Tree, piece: Node) -> list[Event]:
    everything, positions = _events(tree)
    return everything[bisect_left(positions, piece.start_byte) : bisect_left(positions, piece.end_byte)]


@per_tree
def _events(tree: Tree) -> tuple[list[Event], list[int]]:
    """Returns what happens in a whole source, in the order of the text, and where."""
    found: list[Event] = []
    stack = [tree.root]
    while stack:
        stack.extend(reversed(_visit(tree, stack.pop(), found)))
    found.sort(key=lambda event: event.position)
    return found, [event.position for event in found]


def _visit(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    """Notes what ``node`` itself does; returns the nodes still to be visited."""
    if node.type in _JUMPS:
        found.append(Event(node.start_byte, "jump"))
    elif node.type in _OPAQUE:
        found.append(Event(node.start_byte, "opaque"))
    elif node.type.endswith("_declarator"):
        return _visit_declarator(tree, node, found)
    visit = _VISITS.get(node.type)
    return visit(tree, node, found) if visit is not None else node.named_children


def _visit_name(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    _note(tree, node, "", found)
    return index_nodes(node)


def _visit_field(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    del tree, node, found  # threadIdx.x and the like: not a variable of ours
    return []


def _visit_if(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    extreme = guarded_extreme(tree, node)
    if extreme is None:
        return node.named_children
    _note(tree, extreme[0], extreme[1], found)
    return [*index_nodes(extreme[0]), extreme[2]]


def _visit_update(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    target = node.child_by_field_name("argument")
    if target is None:
        return node.named_children
    _note(tree, target, "+", found)
    return index_nodes(target)


def _visit_call(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    if not is_math(function_name(tree, node)):
        found.append(Event(node.start_byte, "opaque"))
    arguments = node.child_by_field_name("arguments")
    return arguments.named_children if arguments is not None else []


def _visit_declaration(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    declarators = node.children_by_field_name("declarator")
    bare = [child for child in declarators if child.type == "identifier"]
    found += [Event(child.start_byte, "declared", tree.text(child)) for child in bare]
    return [child for child in declarators if child.type != "identifier"]


def _visit_assignment(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    fold = folded(tree, node)
    if fold is not None:
        target, group, value = fold
        _note(tree, target, group, found)
        return [*index_nodes(target), value]
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        found.append(Event(node.start_byte, "opaque"))
        return []
    _note(tree, left, "=", found)
    operator = node.child_by_field_name("operator")
    if operator is None or tree.text(operator) != b"=":  # /=, %= and shifts read what they write
        _note(tree, left, "", found)
    return [*index_nodes(left), right]


def _visit_declarator(tree: Tree, node: Node, found: list[Event]) -> list[Node]:
    current: Node | None = node
    while current is not None and current.type != "identifier":
        current = current.child_by_field_name("declarator")
    kind = "opaque" if current is None else "declared"
    found.append(Event(node.start_byte, kind, tree.text(current) if current is not None else b""))
    value, size = node.child_by_field_name("value"), node.child_by_field_name("size")
    return [each for each in (value, size) if each is not None]


_VISITS: Mapping[str, Callable[[Tree, Node, list[Event]], list[Node]]] = {
    "identifier": _visit_name,
    "subscript_expression": _visit_name,
    "field_expression": _visit_field,
    "if_statement": _visit_if,
    "assignment_expression": _visit_assignment,
    "update_expression": _visit_update,
    "call_expression": _visit_call,
    "declaration": _visit_declaration,
}


def _note(tree: Tree, target: Node, update: str, found: list[Event]) -> None:
    position = target.start_byte
    if target.type == "identifier":
        found.append(Event(position, "scalar", tree.text(target), Access(update, target)))
        return
    base: Node | None = target
    while base is not None and base.type == "subscript_expression":
        base = base.child_by_field_name("argument")
    if target.type != "subscript_expression" or base is None or base.type != "identifier":
        found.append(Event(position, "opaque"))
        return
    name = tree.text(base)
    if name in unknown_pointers(tree):
        found.append(Event(position, "opaque"))
    origin = origins(tree).get(name, (name, {}))[0]
    found.append(Event(position, "array", origin, Access(update, target, lambda: _index(tree, target, name))))


def _index(tree: Tree, target: Node, name: bytes) -> tuple[Polynomial | None, ...]:
    """Returns the index of an element, counted from the beginning of the array that ``name`` points into."""
    chain: list[Polynomial | None] = []
    current: Node | None = target
    while current is not None and current.type == "subscript_expression":
        indices = current.child_by_field_name("indices")
        inner = indices.named_children if indices is not None else []
        chain.insert(0, polynomial(tree, inner[0], definitions(tree)) if len(inner) == 1 else None)
        current = current.child_by_field_name("argument")
    if name in origins(tree) and chain[0] is not None:
        chain[0] = added(chain[0], origins(tree)[name][1])
    return tuple(chain)
