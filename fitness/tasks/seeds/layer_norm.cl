// Layer normalisation of every row of x (M x N), scaled by gamma and shifted by beta; a work-group of 32 a row.
#define WIDTH 32
#pragma launch normalise global(M * WIDTH) local(WIDTH)

__attribute__((reqd_work_group_size(WIDTH, 1, 1)))
__kernel void normalise(__global const float* x, __global const float* gamma, __global const float* beta,
                        __global float* y, long M, long N) {
    __local float part[WIDTH];
    long i = get_group_id(0);
    int t = get_local_id(0);
    float sum = 0.0f;
    for (long j = t; j < N; j += WIDTH) {
        sum += x[i * N + j];
    }
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    float mean = 0.0f;
    for (int k = 0; k < WIDTH; k++) {
        mean += part[k];
    }
    mean /= N;
    barrier(CLK_LOCAL_MEM_FENCE);
    float square = 0.0f;
    for (long j = t; j < N; j += WIDTH) {
        square += (x[i * N + j] - mean) * (x[i * N + j] - mean);
    }
    part[t] = square;
    barrier(CLK_LOCAL_MEM_FENCE);
    float variance = 0.0f;
    for (int k = 0; k < WIDTH; k++) {
        variance += part[k];
    }
    variance /= N;
    for (long j = t; j < N; j += WIDTH) {
        y[i * N + j] = (x[i * N + j] - mean) / sqrt(variance + 1e-5f) * gamma[j] + beta[j];
    }
}
