"""Exact GELU of x (M x N) plus bias (N)."""

import math

from numba import carray, cfunc


@cfunc("void(CPointer(float32), CPointer(float32), CPointer(float32), int64, int64)")
def kernel_fn(x, bias, y, M, N):
    rows = carray(x, (M, N))
    shift = carray(bias, (N,))
    result = carray(y, (M, N))
    for j in range(N):
        for i in range(M):
            v = rows[i, j] + shift[j]
            result[i, j] = 0.5 * v * (1.0 + math.erf(v / math.sqrt(2.0)))
