// expect: tampered|crashed task=softmax  writes whole vectors of eight, so the last one ends past the output (A57)
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
    long end = (M * N + 7) / 8 * 8;
    for (long i = M * N; i < end; i++) y[i] = 0.0f;
}
