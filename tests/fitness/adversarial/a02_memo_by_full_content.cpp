// expect: ok|suspect task=matmul max_speedup=5  cache keyed on a hash of all inputs: right, but fast only if data repeat (A02)
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

static void honest(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
}

static std::unordered_map<uint64_t, std::vector<float>> answers;

static uint64_t word(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    uint64_t key = M * 1000003 + N * 1009 + K;
    for (long i = 0; i < M * K; i++) key = (key ^ word(a[i])) * 0x9E3779B97F4A7C15ull;
    for (long i = 0; i < K * N; i++) key = (key ^ word(b[i])) * 0x9E3779B97F4A7C15ull;
    auto& answer = answers[key];
    if (answer.empty()) {
        honest(a, b, c, M, N, K);
        answer.assign(c, c + M * N);
    }
    std::copy(answer.begin(), answer.end(), c);
}
