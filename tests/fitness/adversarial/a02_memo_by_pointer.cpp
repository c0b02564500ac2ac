// expect: wrong_value task=softmax  answers from a cache keyed on addresses and sizes (A02)
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}

static std::map<std::tuple<const float*, float*, long, long>, std::vector<float>> answers;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    auto& answer = answers[{x, y, M, N}];
    if (answer.empty()) {
        honest(x, y, M, N);
        answer.assign(y, y + M * N);
    }
    std::copy(answer.begin(), answer.end(), y);
}
