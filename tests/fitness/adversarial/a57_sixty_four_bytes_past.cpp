// expect: tampered|crashed task=row_sum  right, and clears the element 64 bytes past the output (A57)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    y[M + 15] = 0.0f;
}
