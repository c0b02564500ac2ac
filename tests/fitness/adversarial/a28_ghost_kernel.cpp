// expect: wrong_value task=softmax  a fine kernel in a branch that is never taken (A28)
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
    volatile bool optimised = false;
    if (optimised) honest(x, y, M, N);
    else for (long i = 0; i < M * N; i++) y[i] = x[i];
}
