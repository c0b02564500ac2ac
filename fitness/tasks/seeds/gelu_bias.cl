// Exact GELU of x (M x N) plus bias (N), one element a work-item.
#pragma launch gelu_bias global((N + 15) / 16 * 16, M) local(16, 1)

__kernel void gelu_bias(__global const float* x, __global const float* bias, __global float* y, long M, long N) {
    long i = get_global_id(1);
    long j = get_global_id(0);
    if (j < N) {
        float v = x[i * N + j] + bias[j];
        y[i * N + j] = 0.5f * v * (1.0f + erf(v / sqrt(2.0f)));
    }
}
