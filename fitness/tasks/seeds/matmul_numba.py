"""c = a b for a (M x K) and b (K x N)."""

from numba import carray, cfunc


@cfunc("void(CPointer(float32), CPointer(float32), CPointer(float32), int64, int64, int64)")
def kernel_fn(a, b, c, M, N, K):
    left = carray(a, (M, K))
    right = carray(b, (K, N))
    product = carray(c, (M, N))
    for i in range(M):
        for j in range(N):
            product[i, j] = 0
            for k in range(K):
                product[i, j] += left[i, k] * right[k, j]
