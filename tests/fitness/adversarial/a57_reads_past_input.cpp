// expect: wrong_value|crashed|tampered task=row_sum  adds what lies behind the input, in the hope of zeros (A57)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    for (long j = 0; j < 8; j++) y[M - 1] += x[M * N + j];
}
