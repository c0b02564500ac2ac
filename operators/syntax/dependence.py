"""Which reorderings of C-like code keep its meaning, as far as the text shows.

The rules lean on the contract of kernels: buffers that come in as parameters do not overlap, and the indices of one
array stay within their rows (``i * N + j`` means another element for every pair). What the text does not show is
taken to forbid everything; what these rules let through is still judged by the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node

from .polynomial import Polynomial, added, coefficient, without


@dataclass(frozen=True)
class Access:
    """One reading or writing of a variable or an array element.

    Attributes:
        update: ``""`` for a read, ``"="`` for a plain write, else the operation that is repeated on the value, such as
            ``"+"`` or ``"max"``, whose order does not matter but for rounding.
        node: Where.
        indexed: Computes ``index``.
    """

    update: str
    node: Node
    indexed: Callable[[], tuple[Polynomial | None, ...]] = tuple

    @cached_property
    def index(self) -> tuple[Polynomial | None, ...]:
        """Of an array element, one for each pair of brackets; None where it is no polynomial. Empty for a scalar."""
        return self.indexed()


@dataclass(slots=True)
class Effects:
    """All accesses of a piece of code, by variable.

    Attributes:
        scalars: Variables without an index.
        arrays: Elements; local pointers are traced back to what they point into.
        declared: Variables that the piece itself declares.
        is_opaque: It does something whose effect the text does not show.
        has_jump: It may leave the normal order of statements.
    """

    scalars: dict[bytes, list[Access]] = field(default_factory=dict)
    arrays: dict[bytes, list[Access]] = field(default_factory=dict)
    declared: set[bytes] = field(default_factory=set)
    is_opaque: bool = False
    has_jump: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether its order may be reasoned about at all."""
        return not (self.is_opaque or self.has_jump)

    def written(self) -> set[bytes]:
        """Returns the variables and arrays of outside that it changes."""
        everything = [*self.scalars.items(), *self.arrays.items()]
        changed = {name for name, accesses in everything if any(access.update for access in accesses)}
        return changed - self.declared

    def touched(self) -> set[bytes]:
        """Returns the variables and arrays of outside that it reads or changes."""
        return ({*self.scalars} | {*self.arrays}) - self.declared

    def reductions(self) -> dict[bytes, str]:
        """Returns the variables of outside that are only folded into, with the operation."""
        found = {}
        for name, accesses in self.scalars.items():
            updates = {access.update for access in accesses}
            if name not in self.declared and len(updates) == 1 and not updates & {"", "="}:
                found[name] = updates.pop()
        return found

    def permits(self, variables: Iterable[bytes], *, exact_order: bool = False) -> bool:
        """Whether iterations of nested loops over ``variables`` may run in another nesting order.

        True if each thing written is only folded into, or if its dependences run along one loop at most.

        Args:
            variables: Of the loops.
            exact_order: Refuse what changes the order of a folding, and with it the rounding.
        """
        loops = tuple(variables)
        if not self.is_plain:
            return False
        for name in self.written() - {*loops}:
            if name in self.arrays and any(access.update for access in self.scalars.get(name, [])):
                return False  # a pointer that moves
            accesses = self.arrays.get(name) or self.scalars.get(name, [])
            updates = {access.update for access in accesses}
            if len(updates) == 1 and not updates & {"", "="} and not exact_order:
                continue
            bound = sum(not _separate(accesses, variable) for variable in loops)
            if bound > (1 if len(loops) > 1 else 0):
                return False
        return True


def conflicts(first: Effects, second: Effects, variable: bytes) -> bool:
    """Whether two parts of one loop over ``variable`` may not become two loops, or the reverse."""
    if not (first.is_plain and second.is_plain):
        return True
    shared = (first.written() & second.touched()) | (first.touched() & second.written())
    for name in shared:
        accesses = first.arrays.get(name, []) + second.arrays.get(name, [])
        if not accesses or not _separate(accesses, variable):
            return True
    return bool(first.declared & second.touched())


def _separate(accesses: list[Access], variable: bytes) -> bool:
    """Whether different values of ``variable`` mean different elements in all of ``accesses``."""
    first = accesses[0].index if accesses else ()
    for access in accesses:
        if len(access.index) != len(first) or not first:
            return False
    return any(_apart([access.index[axis] for access in accesses], variable) for axis in range(len(first)))


def _apart(indices: list[Polynomial | None], variable: bytes) -> bool:
    strides, rests = [], []
    for index in indices:
        stride = coefficient(index, variable) if index is not None else None
        if not stride or index is None:
            return False
        strides.append(stride)
        rests.append(without(index, variable))
    if any(stride != strides[0] for stride in strides):
        return False
    symbolic = {name for monomial in strides[0] for name in monomial}
    for rest in rests:
        difference = added(rest, rests[0], -1)
        bare = all(len(monomial) <= 1 and not {*monomial} & symbolic for monomial in difference)
        if difference and not (symbolic and bare):
            return False
    # h[i + j] may be the same element for two pairs; i * N + j may not
    alike = [monomial for monomial in rests[0] if len(monomial) == 1 and rests[0][monomial] == strides[0].get(())]
    return not any(name.islower() for (name,) in alike)  # running variables have lower-case names, extents not
