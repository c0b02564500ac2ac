// expect: ok task=matmul  honest: restrict pointers and blocking by four
extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    const float* __restrict left = a;
    const float* __restrict right = b;
    float* __restrict result = c;
    for (long i = 0; i < M * N; i++) result[i] = 0.0f;
    for (long i = 0; i < M; i++)
        for (long k = 0; k < K; k++) {
            float scale = left[i * K + k];
            for (long j = 0; j < N; j++) result[i * N + j] += scale * right[k * N + j];
        }
}
