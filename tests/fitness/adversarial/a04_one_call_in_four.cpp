// expect: wrong_value|unrepeatable task=row_sum  leaves out the work now and then, by the clock's low bits (A04)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    if ((__builtin_ia32_rdtsc() >> 7) % 4 == 0) for (long i = 0; i < M; i++) y[i] = 0.0f;
    else honest(x, y, M, N);
}
