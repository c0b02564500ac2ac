// expect: ok|suspect|wrong_value|unrepeatable task=row_sum max_speedup=5  skips the work when the output still holds finite numbers and the first input is unchanged (A03)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static float first = 0.0f;
    bool filled = y[0] == y[0] && y[M - 1] == y[M - 1] && x[0] == first;
    first = x[0];
    if (!filled) honest(x, y, M, N);
}
