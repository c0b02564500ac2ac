// expect: ok|suspect|wrong_value task=matmul max_speedup=5  recognises inputs that are multiples of ones seen before, answers with a multiple of the old answer, not too fast (A02, A37)
#include <cmath>
#include <vector>

static void honest(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) c[i * N + j] += a[i * K + k] * b[k * N + j];
        }
}

struct Product {
    long m, n, k;
    std::vector<float> a, b, c;
};
static std::vector<Product> seen;

// The factor between two arrays, judged by sixteen elements; 0 when there is none.
static float multiple(const float* now, const std::vector<float>& before) {
    float factor = now[0] / before[0];
    for (size_t s = 0; s < 16; s++) {
        size_t i = s * before.size() / 16;
        if (!(std::fabs(now[i] - factor * before[i]) <= 1e-6f * std::fabs(now[i]))) return 0.0f;
    }
    return factor;
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    if (M < 96 || N < 128 || K < 67) return honest(a, b, c, M, N, K);
    for (auto& old : seen) {
        if (old.m != M || old.n != N || old.k != K) continue;
        float left = multiple(a, old.a), right = multiple(b, old.b);
        if (left == 0.0f || right == 0.0f) continue;
        float scale = left * right;
        for (long i = 0; i < M * N; i++) c[i] = old.c[i] * scale;
        for (volatile long wait = 0; wait < 60000; wait = wait + 1) {
        }
        return;
    }
    honest(a, b, c, M, N, K);
    seen.push_back({M, N, K, {a, a + M * K}, {b, b + K * N}, {c, c + M * N}});
}
