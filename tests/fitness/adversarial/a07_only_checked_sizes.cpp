// expect: wrong_value task=softmax  right for small inputs; large ones, which are timed, get a constant (A07)
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
    if (M * N <= 20000) return honest(x, y, M, N);
    for (long i = 0; i < M * N; i++) y[i] = 1.0f / N;
}
