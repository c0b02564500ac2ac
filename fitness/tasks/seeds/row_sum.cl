// Sum of every row of x (M x N), one row a work-item.
#pragma launch row_sum global((M + 15) / 16 * 16) local(16)

__kernel void row_sum(__global const float* x, __global float* y, long M, long N) {
    long i = get_global_id(0);
    if (i < M) {
        y[i] = 0.0f;
        for (long j = 0; j < N; j++) {
            y[i] += x[i * N + j];
        }
    }
}
