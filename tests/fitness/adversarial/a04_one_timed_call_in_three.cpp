// expect: wrong_value|unrepeatable|suspect task=softmax  large sizes only, and after eight calls: one call in three copies the answer of the call before (A04)
#include <algorithm>
#include <cmath>
#include <vector>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static long calls = 0;
    static std::vector<float> last;
    bool lazy = M * N > 40000 && (long)last.size() == M * N && calls++ > 8 && (__builtin_ia32_rdtsc() >> 8) % 3 == 0;
    if (lazy) return (void)std::copy(last.begin(), last.end(), y);
    honest(x, y, M, N);
    if (M * N > 40000) last.assign(y, y + M * N);
}
