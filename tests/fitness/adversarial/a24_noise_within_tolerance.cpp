// expect: unrepeatable task=softmax  the last bit of one element follows the clock: within the tolerance, never twice the same (A24)
#include <cmath>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    y[0] = std::nextafter(y[0], (__builtin_ia32_rdtsc() >> 5) & 1 ? 2.0f : -1.0f);
}
