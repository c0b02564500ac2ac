// A 3 x 3 stencil w on the grid x (M x N), zeros outside; one thread a point.
__global__ void stencil(const float* x, const float* w, float* y, long M, long N) {
    long j = blockIdx.x * (long)blockDim.x + threadIdx.x;
    long i = blockIdx.y * (long)blockDim.y + threadIdx.y;
    if (i >= M || j >= N) return;
    float total = 0.0f;
    for (long p = 0; p < 3; ++p) {
        for (long q = 0; q < 3; ++q) {
            long row = i + p - 1, column = j + q - 1;
            if (row >= 0 && row < M && column >= 0 && column < N) total += w[p * 3 + q] * x[row * N + column];
        }
    }
    y[i * N + j] = total;
}

extern "C" void kernel(const float* x, const float* w, float* y, long M, long N, hipStream_t stream) {
    stencil<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(x, w, y, M, N);
}
