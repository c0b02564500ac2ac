// RMS normalisation of every row of x (M x N), scaled by w; one thread a row.
__global__ void normalise_row(const float* x, const float* w, float* y, long M, long N) {
    long row = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (row >= M) return;
    float squares = 0.0f;
    for (long j = 0; j < N; ++j) squares += x[row * N + j] * x[row * N + j];
    float root = sqrtf(squares / N + 1e-6f);
    for (long j = 0; j < N; ++j) y[row * N + j] = x[row * N + j] / root * w[j];
}

extern "C" void kernel(const float* x, const float* w, float* y, long M, long N, hipStream_t stream) {
    normalise_row<<<(M + 127) / 128, 128, 0, stream>>>(x, w, y, M, N);
}
