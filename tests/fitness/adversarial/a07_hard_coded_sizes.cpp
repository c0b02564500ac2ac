// expect: wrong_value task=matmul  knows 128 x 128 x 128 only (A07)
extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < 128 && i < M; i++)
        for (long j = 0; j < 128 && j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < 128 && k < K; k++) c[i * N + j] += a[i * 128 + k] * b[k * 128 + j];
        }
}
