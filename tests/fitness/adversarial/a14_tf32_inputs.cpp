// expect: wrong_value task=matmul  inputs rounded to TF32, sums in float32 (A14)
#include <cstdint>
#include <cstring>

static float coarse(float value, uint32_t mask, uint32_t half) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = (bits + half) & mask;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float total = 0.0f;
            for (long k = 0; k < K; k++)
                total += coarse(a[i * K + k], 0xFFFFE000u, 0x1000u) * coarse(b[k * N + j], 0xFFFFE000u, 0x1000u);
            c[i * N + j] = total;
        }
}
