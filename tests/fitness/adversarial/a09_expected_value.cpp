// expect: wrong_value task=row_sum  extrapolates from the first 64 elements of each row (A09)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    long seen = N < 64 ? N : 64;
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < seen; j++) total += x[i * N + j];
        y[i] = total * N / seen;
    }
}
