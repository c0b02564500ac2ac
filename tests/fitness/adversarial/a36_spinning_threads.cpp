// expect: ok|suspect|tampered|crashed task=matmul max_speedup=5  the seed, and threads that spin only while the baseline is being timed (A36)
#include <atomic>
#include <thread>

static void honest(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
}

static bool started = false;
static std::atomic<bool> busy = true;

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    if (!started) {
        started = true;
        for (int i = 0; i < 4; i++)
            std::thread([] {
                for (;;)
                    while (!busy) {
                    }
            }).detach();
    }
    busy = true;
    honest(a, b, c, M, N, K);
    busy = false;
}
