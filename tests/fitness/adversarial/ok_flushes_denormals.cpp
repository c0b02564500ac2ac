// expect: ok task=softmax  honest: switches denormals off for itself and restores the mode
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
    unsigned mode = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(mode | 0x8040);
    honest(x, y, M, N);
    __builtin_ia32_ldmxcsr(mode);
}
