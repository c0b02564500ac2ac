"""What places a kernel in a cell of MAP-Elites: fixed bins, read from the source or from the compiled artifact.

Bins never depend on what else is in the archive, so that a cell means the same in every run.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from typing import Protocol

from ..individual import Individual, objective_value

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Descriptor(Protocol):
    """One axis of the archive.

    Attributes:
        num_bins: How many cells it has along this axis.
    """

    num_bins: int

    def bin(self, individual: Individual) -> int:
        """Returns the bin of a correct individual, from 0 to ``num_bins - 1``."""
        ...


class _Levels:
    """The highest level of which a pattern occurs in the source, comments left out; 0 when none does."""

    patterns: tuple[str, ...]

    def __init__(self) -> None:
        self._compiled = [re.compile(pattern) for pattern in self.patterns]
        self.num_bins = len(self.patterns) + 1

    def bin(self, individual: Individual) -> int:
        """Returns the level."""
        code = _COMMENT.sub(" ", individual.kernel.source)
        return max((level for level, each in enumerate(self._compiled, 1) if each.search(code)), default=0)


class MemoryLevel(_Levels):
    """How memory is used.

    0 plain accesses; 1 a promise to the compiler (``restrict``, alignment, prefetch, streaming store,
    cache hint); 2 wide or vector accesses (intrinsics, ``float4``, ``tl.make_block_ptr``, bulk copies);
    3 staging in fast memory (a local array that is a tile, ``__shared__``, ``alloca``, ``tl.dot`` of blocks).
    """

    patterns = (
        r"restrict|assume_aligned|alignas|aligned\(|__builtin_prefetch|_mm_prefetch|__ldg|eviction_policy|_stream_",
        r"\b_mm\d*_\w*load\w*|\b_mm\d*_\w*store\w*|\b(?:float|double|int|half|uint)[2348]\b|make_block_ptr|"
        r"vector_size|std::simd|cp_async|memcpy_async|svld1|vld1q",
        r"__shared__|extern_shared|alloca\b|\bstatic\s+thread_local\b|\btl\.dot\b|"
        r"\b(?:float|double|int|half)\s+\w+\s*(?:\[\s*\w+\s*\])+\s*(?:=|;)",
    )


class ParallelLevel(_Levels):
    """How work is spread.

    0 one thread of scalars; 1 SIMD (``omp simd``, intrinsics, vector types); 2 threads or blocks (``omp
    parallel``, ``std::thread``, ``blockIdx``, ``tl.program_id``); 3 cooperation between them (reduction
    clauses, warp shuffles, barriers, atomics, tensor cores).
    """

    patterns = (
        r"omp\s+simd|\bfor\s+simd\b|\b_mm\d*_|vector_size|std::simd|\bvld1q|\bsvld1",
        r"omp\s+parallel|std::thread|\bblockIdx\b|tl\.program_id|std::execution::par",
        r"reduction\s*\(|__shfl|__syncthreads|\bbarrier\b|\batomic|tl\.(?:reduce|atomic_\w+|associative_scan|dot)|wmma|mma\.",
    )


class AlgorithmLevel(_Levels):
    """How loops are arranged.

    0 as the mathematics writes it; 1 unrolled, or several accumulators; 2 blocked or tiled (a loop
    whose step is a name or at least 4); 3 another algorithm (early exit, one-pass statistics, search
    tables, recursion by halves).
    """

    patterns = (
        r"pragma\s+(?:GCC\s+)?unroll|\b(?:acc|sum|s|a)[0-3]\b|static_range|#pragma\s+unroll",
        r"for\s*\([^;]*;[^;]*;[^)]*\+=\s*(?:[A-Za-z_]\w*|[4-9]|\d\d+)|\bBLOCK\w*\b|\bTILE\w*\b",
        r"std::(?:upper|lower)_bound|\bwelford|\bmean\s*\+=|\bmid\b|>>=?\s*1|\bonline\b|std::sort|\blut\b",
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
