"""Sum of every row of x (M x N)."""

from numba import carray, cfunc


@cfunc("void(CPointer(float32), CPointer(float32), int64, int64)")
def kernel_fn(x, y, M, N):
    rows = carray(x, (M, N))
    sums = carray(y, (M,))
    for i in range(M):
        sums[i] = 0
        for j in range(N):
            sums[i] += rows[i, j]
