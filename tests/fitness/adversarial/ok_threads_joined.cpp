// expect: ok task=matmul  honest: two threads a call, joined before it returns
#include <thread>

static void honest(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    long half = M / 2;
    std::thread other(honest, a + half * K, b, c + half * N, M - half, N, K);
    honest(a, b, c, half, N, K);
    other.join();
}
