"""y = transpose of x (M x N)."""

from numba import carray, cfunc


@cfunc("void(CPointer(float32), CPointer(float32), int64, int64)")
def kernel_fn(x, y, M, N):
    rows = carray(x, (M, N))
    columns = carray(y, (N, M))
    for i in range(M):
        for j in range(N):
            columns[j, i] = rows[i, j]
