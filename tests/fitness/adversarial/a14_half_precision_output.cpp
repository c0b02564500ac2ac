// expect: wrong_value task=softmax  computes in float32, keeps eleven bits of the answer (A14)
#include <cmath>
#include <cstdint>
#include <cstring>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}

static float coarse(float value, uint32_t mask, uint32_t half) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = (bits + half) & mask;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    for (long i = 0; i < M * N; i++) y[i] = coarse(y[i], 0xFFFFE000u, 0x1000u);
}
