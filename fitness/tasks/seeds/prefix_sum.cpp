// Inclusive prefix sum along every row of x (M x N).

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        y[i * N] = x[i * N];
    }
    for (long j = 1; j < N; j++) {
        for (long i = 0; i < M; i++) {
            y[i * N + j] = y[i * N + j - 1] + x[i * N + j];
        }
    }
}
