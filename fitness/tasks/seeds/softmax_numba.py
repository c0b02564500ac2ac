"""Softmax of every row of x (M x N)."""

import math

from numba import carray, cfunc


@cfunc("void(CPointer(float32), CPointer(float32), int64, int64)")
def kernel_fn(x, y, M, N):
    rows = carray(x, (M, N))
    result = carray(y, (M, N))
    for i in range(M):
        highest = rows[i, 0]
        for j in range(1, N):
            if rows[i, j] > highest:
                highest = rows[i, j]
        total = 0.0
        for j in range(N):
            total += math.exp(rows[i, j] - highest)
        for j in range(N):
            result[i, j] = math.exp(rows[i, j] - highest) / total
