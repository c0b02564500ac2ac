"""Awkward sizes for checking: one element, one row, one column, odd, prime, thin, block ± 1."""

from __future__ import annotations

from .tensor_task import Sizes

MATRIX_CHECKS: Sizes = tuple(
    {"M": m, "N": n}
    for m, n in (
        (1, 1),
        (1, 127),
        (127, 1),
        (3, 5),
        (2, 257),
        (31, 33),
        (32, 32),
        (33, 31),
        (63, 65),
        (64, 64),
        (65, 63),
        (7, 1021),
        (1, 2049),
        (509, 1),
        (127, 129),
    )
)
"""For tasks on an M x N matrix."""
