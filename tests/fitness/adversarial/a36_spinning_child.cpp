// expect: ok|suspect|tampered|crashed task=matmul max_speedup=5  the seed, and a child process that hogs the caches while the baseline is timed (A36)
#include <unistd.h>
#include <vector>

static void honest(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    static pid_t child = 0;
    if (!child && (child = fork()) == 0) {
        setsid();
        std::vector<char> memory(64 << 20);
        for (size_t i = 0;; i += 4097) memory[i % memory.size()]++;
    }
    honest(a, b, c, M, N, K);
}
