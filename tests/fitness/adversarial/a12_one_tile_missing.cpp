// expect: wrong_value task=matmul  leaves out the last eight terms of one element in the middle (A12)
static void honest(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    honest(a, b, c, M, N, K);
    long i = M / 2, j = N / 2;
    for (long k = K > 8 ? K - 8 : 0; k < K; k++) c[i * N + j] -= a[i * K + k] * b[k * N + j];
}
