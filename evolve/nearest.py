"""Which earlier vector is most like a new one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_STEPS = 4096.0


class Nearest:
    """Unit vectors in slot order, compared with a new one in one product.

    Each is kept as whole multiples of 1/4096, rounded towards zero, in float32: every partial sum of a product of
    two such is a whole number of at most 2^24 and thus exact, whatever order a library adds in. So a verdict is the
    same on every machine, as a replay needs it; cosines are off by about 1e-4.
    """

    def __init__(self) -> None:
        self._rows: NDArray[np.float32] = np.empty((0, 0), np.float32)
        self._lengths: NDArray[np.float64] = np.empty(0)
        self._slots: list[int] = []

    def add(self, slot: int, vector: Sequence[float]) -> None:
        """Takes in the vector of a slot, which is later than all before.

        Raises:
            ValueError: It has another length than those before.
        """
        row = self._row(vector)
        count = len(self._slots)
        if count == len(self._rows):
            rows = np.empty((max(16, 2 * count), row.size), np.float32)
            lengths = np.empty(len(rows))
            if count:
                rows[:count], lengths[:count] = self._rows, self._lengths
            self._rows, self._lengths = rows, lengths
        self._rows[count], self._lengths[count] = row, _length(row)
        self._slots.append(slot)

    def find(self, vector: Sequence[float], before: int) -> tuple[float, int] | None:
        """Returns the largest cosine with a vector of a slot before ``before``, and the first slot that has it.

        Raises:
            ValueError: It has another length than those before.
        """
        row = self._row(vector)
        count = int(np.searchsorted(self._slots, before))
        if not count:
            return None
        cosines = (self._rows[:count] @ row).astype(np.float64) / (self._lengths[:count] * _length(row))
        first = int(np.argmax(cosines))
        return float(cosines[first]), self._slots[first]

    def _row(self, vector: Sequence[float]) -> NDArray[np.float32]:
        """Returns a vector as it is kept: shape (length of the vector,)."""
        if self._slots and len(vector) != self._rows.shape[1]:
            raise ValueError(f"an embedding has {len(vector)} numbers, those before have {self._rows.shape[1]}")
        largest = max(map(abs, vector))  # squares of what is scaled by it can neither overflow nor all vanish
        scaled = [each / largest for each in vector]
        norm = math.sqrt(math.fsum(each * each for each in scaled))
        row: NDArray[np.float32] = np.trunc(np.array(scaled) / norm * _STEPS).astype(np.float32)
        return row


def _length(row: NDArray[np.float32]) -> float:
    return math.sqrt(float(np.dot(row, row)))
