// expect: ok task=transpose  honest: prefetching and assumptions through builtins
extern "C" void kernel(const float* x, float* y, long M, long N) {
    x = static_cast<const float*>(__builtin_assume_aligned(x, 4));
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            if (__builtin_expect(i + 8 < M, 1)) __builtin_prefetch(x + (i + 8) * N + j);
            y[j * M + i] = x[i * N + j];
        }
}
