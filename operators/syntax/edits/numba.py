"""Edits that know Numba: what its compiler may assume, and elements that are held in a variable."""

from __future__ import annotations

import numpy as np
from tree_sitter import Node

from ..edit import Edit, replace
from ..tree import Tree, walk
from .draw import one_of, shuffled

_OPTIONS = {
    b"fastmath": (b"True", b'{"reassoc", "contract"}', b'{"contract"}'),
    b"error_model": (b'"numpy"',),
    b"boundscheck": (b"False",),
    b"inline": (b'"always"',),
}
_FOR_FUNCTIONS = frozenset({b"inline"})
"""Options that a ``cfunc`` does not take."""


def compile_option(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Gives a compiled function an option, another value of it, or takes one back."""
    decorators = [node for node in tree.of("decorator") if _compiler(tree, node) is not None]
    if not decorators:
        return None
    decorator = one_of(decorators, rng)
    called, compiler = decorator.named_children[0], _compiler(tree, decorator)
    given = _options(tree, called)
    if given and rng.random() < 0.3:
        return _without(tree, given, rng)
    allowed = sorted(set(_OPTIONS) - (_FOR_FUNCTIONS if compiler == b"cfunc" else frozenset()))
    name = one_of(allowed, rng)
    text = name + b"=" + one_of(_OPTIONS[name], rng)
    note = f"line {tree.line(decorator.start_byte)}: {text.decode()}"
    if name in given:
        return replace(given[name], text, note)
    if called.type != "call":
        return Edit(((called.end_byte, called.end_byte, b"(" + text + b")"),), note)
    arguments = called.child_by_field_name("arguments")
    if arguments is None:
        return None
    comma = b", " if arguments.named_children else b""
    return Edit(((arguments.end_byte - 1, arguments.end_byte - 1, comma + text),), note)


def hold_in_variable(tree: Tree, rng: np.random.Generator) -> Edit | None:
    """Adds up in a variable what a loop adds to one element: arrays may overlap, as far as the compiler knows."""
    if b"numba" not in tree.source:
        return None
    for loop in shuffled(tree.of("for_statement"), rng):
        variable = loop.child_by_field_name("left")
        for update in (node for node in walk(loop) if node.type == "augmented_assignment"):
            element = update.child_by_field_name("left")
            if variable is None or element is None or element.type != "subscript":
                continue
            text, array = tree.text(element), tree.text(element.named_children[0])
            mentions = [node for node in walk(loop) if node.type == "subscript" and tree.text(node) == text]
            whole = [node for node in walk(loop) if node.type == "identifier" and tree.text(node) == array]
            if len(whole) == len(mentions) and not _words(tree, element) & _assigned(tree, loop):
                held = tree.fresh("held").encode()
                indent = b"\n" + tree.indent(loop.start_byte)
                edits = [(loop.start_byte, loop.start_byte, held + b" = " + text + indent)]
                edits += [(node.start_byte, node.end_byte, held) for node in mentions]
                edits.append((loop.end_byte, loop.end_byte, indent + text + b" = " + held))
                return Edit(tuple(edits), f"line {tree.line(loop.start_byte)}: {text.decode()} held in a variable")
    return None


def _words(tree: Tree, node: Node) -> set[bytes]:
    return {tree.text(each) for each in walk(node) if each.type == "identifier"}


def _assigned(tree: Tree, loop: Node) -> set[bytes]:
    """Returns the names that a loop gives values to."""
    nodes = [node for node in walk(loop) if node.type in {"for_statement", "assignment", "augmented_assignment"}]
    lefts = [left for node in nodes if (left := node.child_by_field_name("left")) is not None]
    return {tree.text(left) for left in lefts if left.type == "identifier"}


def _without(tree: Tree, given: dict[bytes, Node], rng: np.random.Generator) -> Edit:
    """Takes an option out, with the comma before it."""
    name = one_of(sorted(given), rng)
    node = given[name]
    comma = tree.source.rfind(b",", 0, node.start_byte)
    start = comma if comma >= 0 and not tree.source[comma + 1 : node.start_byte].strip() else node.start_byte
    return Edit(((start, node.end_byte, b""),), f"line {tree.line(node.start_byte)}: no {name.decode()}")


def _compiler(tree: Tree, decorator: Node) -> bytes | None:
    """Returns ``cfunc`` or ``njit`` where a decorator is one of them."""
    called = decorator.named_children[0] if decorator.named_children else None
    function = called.child_by_field_name("function") if called is not None and called.type == "call" else called
    name = tree.text(function).rpartition(b".")[2] if function is not None else b""
    return name if name in {b"cfunc", b"njit"} and b"numba" in tree.source else None


def _options(tree: Tree, called: Node) -> dict[bytes, Node]:
    """Returns the known options that a decorator has."""
    arguments = called.child_by_field_name("arguments") if called.type == "call" else None
    nodes = [each for each in arguments.named_children if each.type == "keyword_argument"] if arguments else []
    named = {tree.text(name): node for node in nodes if (name := node.child_by_field_name("name")) is not None}
    return {name: node for name, node in named.items() if name in _OPTIONS}
