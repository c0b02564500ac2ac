// Row softmax, one thread a row: three passes over the row.
__global__ void softmax_row(const float* x, float* y, long M, long N) {
    long row = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (row >= M) return;
    float highest = -INFINITY;
    for (long j = 0; j < N; ++j) highest = fmaxf(highest, x[row * N + j]);
    float total = 0.0f;
    for (long j = 0; j < N; ++j) total += expf(x[row * N + j] - highest);
    for (long j = 0; j < N; ++j) y[row * N + j] = expf(x[row * N + j] - highest) / total;
}

extern "C" void kernel(const float* x, float* y, long M, long N, hipStream_t stream) {
    softmax_row<<<(M + 127) / 128, 128, 0, stream>>>(x, y, M, N);
}
