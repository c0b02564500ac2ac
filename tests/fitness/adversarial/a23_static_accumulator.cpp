// expect: wrong_value|unrepeatable task=row_sum  a static total that nobody resets: right the first time only (A23)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    static float totals[1 << 16];
    for (long i = 0; i < M; i++) {
        for (long j = 0; j < N; j++) totals[i & 0xFFFF] += x[i * N + j];
        y[i] = totals[i & 0xFFFF];
    }
}
