// y (N x M) is the transpose of x (M x N), one element a work-item.
#pragma launch transpose global((N + 15) / 16 * 16, M) local(16, 1)

__kernel void transpose(__global const float* x, __global float* y, long M, long N) {
    long i = get_global_id(1);
    long j = get_global_id(0);
    if (j < N) {
        y[j * M + i] = x[i * N + j];
    }
}
