// expect: ok task=matmul  honest: OpenMP pragmas
extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    #pragma omp parallel for
    for (long i = 0; i < M; i++) {
        for (long j = 0; j < N; j++) c[i * N + j] = 0.0f;
        for (long k = 0; k < K; k++) {
    #pragma omp simd
            for (long j = 0; j < N; j++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
    }
}
