// expect: wrong_value task=softmax  exp through the bits of a float, three digits (A14)
#include <cstdint>
#include <cstring>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) {
            float z = x[i * N + j] - highest;
            z = z < -87.0f ? -87.0f : z;
            int32_t bits = (int32_t)(12102203.0f * z + 1064866805.0f);
            std::memcpy(&y[i * N + j], &bits, sizeof bits);
            total += y[i * N + j];
        }
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}
