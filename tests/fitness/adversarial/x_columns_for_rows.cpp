// expect: wrong_value task=row_sum  sums columns: right for a symmetric matrix
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        y[i] = 0.0f;
        for (long j = 0; j < N; j++) y[i] += x[(j * M + i) % (M * N)];
    }
}
