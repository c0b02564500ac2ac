// expect: ok|suspect|wrong_value|unrepeatable task=row_sum max_speedup=5  does nothing when the last call ended less than 20 us ago, as in a timed batch (A05)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static unsigned long long last = 0;
    if (__builtin_ia32_rdtsc() - last > 60000) honest(x, y, M, N);
    last = __builtin_ia32_rdtsc();
}
