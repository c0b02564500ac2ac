// Sum of every row of x (M x N), one thread a row.
__global__ void sum_row(const float* x, float* y, long M, long N) {
    long row = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (row >= M) return;
    float total = 0.0f;
    for (long j = 0; j < N; ++j) total += x[row * N + j];
    y[row] = total;
}

extern "C" void kernel(const float* x, float* y, long M, long N, hipStream_t stream) {
    sum_row<<<(M + 127) / 128, 128, 0, stream>>>(x, y, M, N);
}
