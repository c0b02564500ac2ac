"""What places a kernel in a cell of MAP-Elites: fixed bins, read from the source or from the compiled artifact.

Bins never depend on what else is in the archive, so that a cell means the same in every run.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ..individual import Individual, objective_value

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")


class Descriptor(Protocol):
    """One axis of the archive.

    Attributes:
        num_bins: How many cells it has along this axis.
    """

    num_bins: int

    def bin(self, individual: Individual) -> int:
        """Returns the bin of a correct individual, from 0 to ``num_bins - 1``."""
        ...


@lru_cache(maxsize=8)
def _read(source: str) -> tuple[str, frozenset[str]]:
    """Returns a source without comments, and its words; the axes of an archive read it one after another."""
    code = _COMMENT.sub(" ", source)
    return code, frozenset(_WORD.findall(code))


@dataclass(frozen=True, slots=True)
class _Marks:
    """What shows that a kernel is at a level; any of it is enough.

    Attributes:
        parts: Texts that occur anywhere. Plain search is far faster than a pattern of alternatives.
        words: Whole words.
        patterns: Each begins with a literal, by which it is found fast.
    """

    parts: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    patterns: tuple[re.Pattern[str], ...] = ()

    def show(self, code: str, words: frozenset[str]) -> bool:
        """Whether any mark occurs."""
        if any(part in code for part in self.parts) or not self.words.isdisjoint(words):
            return True
        return any(pattern.search(code) for pattern in self.patterns)


def _marks(parts: str = "", words: str = "", patterns: tuple[str, ...] = ()) -> _Marks:
    """Reads marks that are separated by blanks."""
    return _Marks(tuple(parts.split()), frozenset(words.split()), tuple(re.compile(each) for each in patterns))


class _Levels:
    """The highest level of which a mark occurs in the source, comments left out; 0 when none does."""

    levels: tuple[_Marks, ...]

    def __init__(self) -> None:
        self.num_bins = len(self.levels) + 1

    def bin(self, individual: Individual) -> int:
        """Returns the level."""
        code, words = _read(individual.kernel.source)
        for level in range(len(self.levels), 0, -1):
            if self.levels[level - 1].show(code, words):
                return level
        return 0


_ARRAY = r"\s+\w+\s*(?:\[\s*\w+\s*\])+\s*[=;]"


class MemoryLevel(_Levels):
    """How memory is used.

    0 plain accesses; 1 a promise to the compiler (``restrict``, alignment, prefetch, streaming store,
    cache hint); 2 wide or vector accesses (intrinsics, ``float4``, ``tl.make_block_ptr``, bulk copies);
    3 staging in fast memory (a local array, ``__shared__``, ``alloca``, ``tl.dot`` of blocks).
    """

    levels = (
        _marks(
            "restrict assume_aligned alignas aligned( __builtin_prefetch _mm_prefetch __ldg eviction_policy _stream_"
        ),
        _marks(
            "make_block_ptr vector_size std::simd cp_async memcpy_async svld1 vld1q",
            " ".join(f"{kind}{width}" for kind in ("float", "double", "int", "half", "uint") for width in (2, 3, 4, 8)),
            (r"_mm\d*_\w*(?:load|store)",),
        ),
        _marks(
            "__shared__ extern_shared alloca tl.dot",
            "thread_local",
            tuple(kind + _ARRAY for kind in ("float", "double", "int", "half")),
        ),
    )


class ParallelLevel(_Levels):
    """How work is spread.

    0 one thread of scalars; 1 SIMD (``omp simd``, intrinsics, vector types); 2 threads or blocks (``omp
    parallel``, ``std::thread``, ``blockIdx``, ``tl.program_id``); 3 cooperation between them (reduction
    clauses, warp shuffles, barriers, atomics, tensor cores).
    """

    levels = (
        _marks("vector_size std::simd vld1q svld1", patterns=(r"omp\s+simd", r"for\s+simd", r"_mm\d*_")),
        _marks("std::thread tl.program_id std::execution::par", "blockIdx", (r"omp\s+parallel",)),
        _marks(
            "__shfl __syncthreads atomic tl.reduce tl.associative_scan tl.dot wmma mma.",
            "barrier",
            (r"reduction\s*\(",),
        ),
    )


class AlgorithmLevel(_Levels):
    """How loops are arranged.

    0 as the mathematics writes it; 1 unrolled, or several accumulators; 2 blocked or tiled (a loop
    whose step is a name or at least 4, or a constant called block or tile); 3 another algorithm
    (binary search, one-pass statistics, tables, recursion by halves).
    """

    levels = (
        _marks("unroll static_range", " ".join(f"{name}{i}" for name in ("acc", "sum", "s", "a") for i in range(4))),
        _marks("BLOCK TILE", patterns=(r"for\s*\([^;]*;[^;]*;[^)]*\+=\s*(?:[A-Za-z_]\w*|[4-9]|\d\d+)",)),
        _marks(
            "std::upper_bound std::lower_bound std::sort welford",
            "mid lut online",
            (r"mean\s*\+=", r">>=?\s*1\b"),
        ),
    )


class Metric:
    """A number of the evaluation, cut at fixed edges.

    Args:
        name: ``"latency_us"``, ``"max_rel_error"``, ``"source_bytes"`` or ``"static.<metric>"``.
        edges: Ascending; a value equal to an edge is above it. Without a value the bin is 0.

    Raises:
        ValueError: The edges do not ascend.
    """

    def __init__(self, name: str, edges: Sequence[float]) -> None:
        if not edges or list(edges) != sorted(set(edges)):
            raise ValueError(f"the edges of {name} must ascend, are {list(edges)}")
        self._name = name
        self._edges = list(edges)
        self.num_bins = len(edges) + 1

    def bin(self, individual: Individual) -> int:
        """Returns the number of edges at or below the value."""
        value = objective_value(individual.evaluation, individual.kernel, self._name)
        return 0 if value is None else bisect.bisect_right(self._edges, value)
