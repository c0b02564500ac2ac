"""Counting loops of C-like code, and the text of new ones."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from .edit import Edit
from .effects import changed_names
from .tree import Tree, ancestors, per_tree, walk


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop ``for (T v = lower; v < upper; v += step)`` whose body changes none of these.

    Attributes:
        node: The statement.
        start: Of the first pragma that belongs to it, in bytes, else of the statement.
        variable: ``v``.
        type: ``T``.
        lower: Text of the first value.
        relation: ``"<"`` or ``"<="``.
        upper: Text of the bound.
        step: Text of the increment, ``"1"`` for ``++v``.
        body: A statement, with or without braces.
    """

    node: Node
    start: int
    variable: str
    type: str
    lower: str
    relation: str
    upper: str
    step: str
    body: Node

    @property
    def header(self) -> tuple[int, int]:
        """Byte range from ``for`` to the closing parenthesis."""
        closing = next(child for child in reversed(self.node.children) if child.type == ")")
        return self.node.start_byte, closing.end_byte

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What two loops must agree in to run over the same range, but for the name of the variable."""
        return self.lower, self.relation, self.upper, self.step

    def head(self, lower: str | None = None, upper: str | None = None, step: str | None = None) -> str:
        """Returns a header like its own with some parts replaced."""
        stride = step or self.step
        increment = f"++{self.variable}" if stride == "1" else f"{self.variable} += {stride}"
        first = self.lower if lower is None else lower
        start = f"{self.type} {self.variable} = {first}" if first else ""
        return f"for ({start}; {self.variable} {self.relation} {upper or self.upper}; {increment})"


@per_tree
def loops(tree: Tree) -> list[Loop]:
    """Returns the counting loops of a source, in the order of the text."""
    return [loop for node in tree.of("for_statement") if (loop := as_loop(tree, node)) is not None]


def as_loop(tree: Tree, node: Node | None) -> Loop | None:
    """Returns ``node`` as a counting loop, or None when it is none."""
    if node is None or node.type != "for_statement":
        return None
    known = _known(tree)
    if node.id not in known:
        known[node.id] = _read(tree, node)
    return known[node.id]


@per_tree
def _known(tree: Tree) -> dict[int, Loop | None]:
    """Returns what is remembered of the loops of a source, by the identity of their nodes."""
    del tree
    return {}


def _read(tree: Tree, node: Node) -> Loop | None:
    body = node.child_by_field_name("body")
    first = _initializer(tree, node.child_by_field_name("initializer"))
    if first is None or body is None:
        return None
    type_text, variable, lower = first
    bound = _bound(tree, node.child_by_field_name("condition"), variable)
    step = _step(tree, node.child_by_field_name("update"), variable)
    if bound is None or step is None:
        return None
    start = _with_pragmas(tree, node)
    loop = Loop(node, start, variable, type_text, lower, *bound, step, body)
    return loop if _is_steady(tree, loop) else None


def statements(body: Node) -> list[Node]:
    """Returns the statements of a body, pragmas included, comments not."""
    children = body.named_children if body.type == "compound_statement" else [body]
    return [child for child in children if child.type != "comment"]


def code(body: Node) -> list[Node]:
    """Returns the statements of a body without pragmas and comments."""
    return [child for child in statements(body) if child.type != "preproc_call"]


@per_tree
def innermost(tree: Tree) -> list[Loop]:
    """Returns the counting loops without loops in them."""
    return [loop for loop in loops(tree) if not any(node.type in LOOPS for node in walk(loop.body))]


_WORD = re.compile(rb"[A-Za-z_]\w*")

LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


def body_text(tree: Tree, body: Node) -> str:
    """Returns the text of a body without its braces, with no indentation of its own."""
    inner = body.named_children if body.type == "compound_statement" else [body]
    return text_of(tree, inner[0].start_byte, inner[-1].end_byte) if inner else ""


def text_of(tree: Tree, start: int, end: int) -> str:
    """Returns a range of the source without the indentation of its first line."""
    prefix = tree.indent(start)
    lines = tree.source[start:end].decode("utf-8", "surrogatepass").replace("\r\n", "\n").split("\n")
    return "\n".join([lines[0], *(line.removeprefix(prefix.decode()) for line in lines[1:])]).rstrip()


def placed(tree: Tree, position: int, text: str) -> bytes:
    """Returns generated code, indented for where it will stand; its first line stands there already."""
    prefix = tree.indent(position).decode()
    first, *others = text.split("\n")
    lines = [first, *(prefix + line if line else line for line in others)]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def braced(head: str, body: str) -> str:
    """Returns ``head { body }`` over several lines."""
    return f"{head} {{\n{textwrap.indent(body, '  ')}\n}}"


def renamed(tree: Tree, node: Node, replacements: Mapping[str, str]) -> str:
    """Returns the text of ``node`` with variables and array elements replaced, without its indentation.

    Args:
        tree: Holds ``node``.
        node: A statement or an expression.
        replacements: New text by the text of an identifier or of a subscript expression.
    """
    return _renamed_range(tree, (node.start_byte, node.end_byte), [node], replacements)


def renamed_body(tree: Tree, body: Node, replacements: Mapping[str, str]) -> str:
    """Returns the text of a body without its braces and with variables and array elements replaced."""
    inner = body.named_children if body.type == "compound_statement" else [body]
    if not inner:
        return ""
    return _renamed_range(tree, (inner[0].start_byte, inner[-1].end_byte), inner, replacements)


def over(tree: Tree, loop: Loop, text: str, note: str) -> Edit:
    """Puts ``text`` in place of a loop and its pragmas, in braces where only one statement may stand."""
    parent = loop.node.parent
    if "\n" in text and parent is not None and parent.type != "compound_statement":
        text = "{\n" + "\n".join("  " + line if line else line for line in text.split("\n")) + "\n}"
    return Edit(((loop.start, loop.node.end_byte, placed(tree, loop.start, text)),), note)


def can_step(loop: Loop) -> bool:
    """Whether `stepping` is right for a loop: steps of one up to a bound, and no unsigned number below its start."""
    is_unsigned = any(mark in loop.type for mark in ("unsigned", "size_t", "uint"))
    return loop.step == "1" and loop.relation == "<" and (loop.lower == "0" or not is_unsigned)


def stepping(tree: Tree, loop: Loop, width: int, body: str) -> list[str]:
    """Returns a loop in steps of ``width`` around ``body``, and one over what remains around the old body."""
    kind, end = loop.type.removeprefix("const "), tree.fresh(f"{loop.variable}_main")
    length = f"({loop.upper})" if loop.lower == "0" else f"(({loop.upper}) - ({loop.lower}))"
    start = "" if loop.lower == "0" else f"{loop.lower} + "
    return [
        f"const {kind} {end} = {start}{length} / {width} * {width};",
        braced(loop.head(upper=end, step=str(width)), body),
        braced(loop.head(lower=end), body_text(tree, loop.body)),
    ]


def header_words(tree: Tree, loop: Loop) -> set[str]:
    """Returns the identifiers between the parentheses of a loop."""
    parts = [part for part in loop.node.named_children if part != loop.body]
    return {_decoded(tree.text(node)) for part in parts for node in walk(part) if node.type == "identifier"}


def _renamed_range(tree: Tree, span: tuple[int, int], nodes: list[Node], replacements: Mapping[str, str]) -> str:
    start, end = span
    wanted = {name.encode(): text.encode() for name, text in replacements.items()}
    pieces, position = [], start
    stack = nodes[::-1]
    while stack:
        node = stack.pop()
        if node.type in {"identifier", "subscript_expression"} and tree.text(node) in wanted:
            pieces += [tree.source[position : node.start_byte], wanted[tree.text(node)]]
            position = node.end_byte
        elif node.type == "preproc_call" and {*_WORD.findall(tree.text(node))} & {*wanted}:
            pieces.append(tree.source[position : node.start_byte])  # a clause would need another variable: without it
            position = node.end_byte
        else:
            stack.extend(reversed(node.named_children))
    text = b"".join([*pieces, tree.source[position:end]]).decode("utf-8", "surrogatepass").replace("\r\n", "\n")
    prefix = tree.indent(start).decode()
    first, *others = text.split("\n")
    return "\n".join([first, *(line.removeprefix(prefix) for line in others)]).rstrip()


def _initializer(tree: Tree, node: Node | None) -> tuple[str, str, str] | None:
    if node is None or node.type != "declaration":
        return None
    declarators = node.children_by_field_name("declarator")
    if len(declarators) != 1 or declarators[0].type != "init_declarator":
        return None
    name, value = (declarators[0].child_by_field_name(part) for part in ("declarator", "value"))
    if name is None or value is None or name.type != "identifier":
        return None
    type_text = tree.source[node.start_byte : declarators[0].start_byte].strip()
    return _decoded(type_text), _decoded(tree.text(name)), _decoded(tree.text(value))


def _bound(tree: Tree, node: Node | None, variable: str) -> tuple[str, str] | None:
    if node is None or node.type != "binary_expression":
        return None
    left, operator, right = (node.child_by_field_name(part) for part in ("left", "operator", "right"))
    if left is None or operator is None or right is None or _decoded(tree.text(left)) != variable:
        return None
    relation = _decoded(tree.text(operator))
    return (relation, _decoded(tree.text(right))) if relation in {"<", "<="} else None


def _step(tree: Tree, node: Node | None, variable: str) -> str | None:
    if node is None:
        return None
    if node.type == "update_expression":
        return "1" if _decoded(tree.text(node)) in {f"++{variable}", f"{variable}++"} else None
    left, operator, right = (node.child_by_field_name(part) for part in ("left", "operator", "right"))
    if left is None or operator is None or right is None or _decoded(tree.text(left)) != variable:
        return None
    is_step = tree.text(operator) == b"+=" and right.type in {"number_literal", "identifier", "binary_expression"}
    return _decoded(tree.text(right)) if is_step and not tree.text(right).startswith(b"-") else None


def _is_steady(tree: Tree, loop: Loop) -> bool:
    """Whether the body leaves the loop's variable, bound and step alone."""
    update = loop.node.child_by_field_name("update")
    condition = loop.node.child_by_field_name("condition")
    right = condition.child_by_field_name("right") if condition is not None else None
    bounds = [*walk(right)] if right is not None else []
    stride = update.child_by_field_name("right") if update is not None else None
    used = {tree.text(node) for node in [*bounds, *(walk(stride) if stride else [])] if node.type == "identifier"}
    if any(
        node.type in {"call_expression", "assignment_expression"} and not _is_minimum(tree, node) for node in bounds
    ):
        return False
    return loop.variable.encode() not in used and not (used | {loop.variable.encode()}) & changed_names(tree, loop.body)


def _is_minimum(tree: Tree, node: Node) -> bool:
    function = node.child_by_field_name("function")
    return function is not None and tree.text(function).rsplit(b"::", 1)[-1].split(b"<")[0] in {b"min", b"max"}


def _with_pragmas(tree: Tree, node: Node) -> int:
    start, current = node.start_byte, node.prev_sibling
    while current is not None and current.type == "preproc_call" and tree.text(current).lstrip().startswith(b"#pragma"):
        start, current = current.start_byte, current.prev_sibling
    return start


def enclosing_loops(tree: Tree, node: Node) -> list[Loop]:
    """Returns the counting loops around ``node``, nearest first."""
    around = [above for above in ancestors(node) if above.type == "for_statement"]
    return [loop for above in around if (loop := as_loop(tree, above)) is not None]


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")
