// expect: wrong_value task=row_sum  adds onto the output without clearing it: right where memory happens to be zero (A23)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) y[i] += x[i * N + j];
}
