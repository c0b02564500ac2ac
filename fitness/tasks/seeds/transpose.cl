// y (N x M) is the transpose of x (M x N), one element a work-item.
#pragma launch transpose global(N, M) local(1, 1)

__kernel void transpose(__global const float* x, __global float* y, long M, long N) {
    long i = get_global_id(1);
    long j = get_global_id(0);
    y[j * M + i] = x[i * N + j];
}
