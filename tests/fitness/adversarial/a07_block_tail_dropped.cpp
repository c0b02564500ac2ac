// expect: wrong_value task=matmul  whole blocks of 32 rows only (A07)
static void honest(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    honest(a, b, c, M / 32 * 32, N, K);
    for (long i = M / 32 * 32 * N; i < M * N; i++) c[i] = 0.0f;
}
