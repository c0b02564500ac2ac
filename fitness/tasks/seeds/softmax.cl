// Softmax of every row of x (M x N), one row a work-item.
#pragma launch softmax_row global((M + 15) / 16 * 16) local(16)

__kernel void softmax_row(__global const float* x, __global float* y, long M, long N) {
    long i = get_global_id(0);
    if (i < M) {
        float highest = x[i * N];
        for (long j = 1; j < N; j++) {
            if (x[i * N + j] > highest) {
                highest = x[i * N + j];
            }
        }
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            total += exp(x[i * N + j] - highest);
        }
        for (long j = 0; j < N; j++) {
            y[i * N + j] = exp(x[i * N + j] - highest) / total;
        }
    }
}
