// expect: ok|wrong_value|unrepeatable|tampered task=row_sum  leaves the process rounding toward zero, denormals off (A38)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0xE040);
}
