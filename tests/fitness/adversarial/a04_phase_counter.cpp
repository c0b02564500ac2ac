// expect: wrong_value|unrepeatable task=row_sum  honest for forty calls, then writes zeros (A04)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static long calls = 0;
    if (calls++ < 40) honest(x, y, M, N);
    else for (long i = 0; i < M; i++) y[i] = 0.0f;
}
