// expect: wrong_value task=softmax  honest for the first two calls of each size (A04)
#include <cmath>
#include <map>
#include <utility>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}

static std::map<std::pair<long, long>, int> calls;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    if (calls[{M, N}]++ < 2) honest(x, y, M, N);
    else for (long i = 0; i < M * N; i++) y[i] = 1.0f / N;
}
