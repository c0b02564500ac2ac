"""Layer normalisation of every row of x (M x N), scaled by gamma and shifted by beta."""

import math

from numba import carray, cfunc


@cfunc("void(CPointer(float32), CPointer(float32), CPointer(float32), CPointer(float32), int64, int64)")
def kernel_fn(x, gamma, beta, y, M, N):
    rows = carray(x, (M, N))
    scale = carray(gamma, (N,))
    shift = carray(beta, (N,))
    result = carray(y, (M, N))
    for i in range(M):
        mean = 0.0
        for j in range(N):
            mean += rows[i, j]
        mean /= N
        variance = 0.0
        for j in range(N):
            variance += (rows[i, j] - mean) * (rows[i, j] - mean)
        variance /= N
        for j in range(N):
            result[i, j] = (rows[i, j] - mean) / math.sqrt(variance + 1e-5) * scale[j] + shift[j]
