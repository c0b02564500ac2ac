// c = a b for a (M x K) and b (K x N).

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++) {
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) {
                c[i * N + j] += a[i * K + k] * b[k * N + j];
            }
        }
    }
}
