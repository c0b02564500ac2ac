// y (N x M) is the transpose of x (M x N).

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        for (long j = 0; j < N; j++) {
            y[j * M + i] = x[i * N + j];
        }
    }
}
