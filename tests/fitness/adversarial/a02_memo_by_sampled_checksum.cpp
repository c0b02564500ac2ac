// expect: wrong_value task=row_sum  cache keyed on sixteen sampled elements: misses a change of a few others (A02)
#include <algorithm>
#include <map>
#include <vector>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static std::map<double, std::vector<float>> answers;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    double key = M * 1e6 + N;
    for (long s = 0; s < 16; s++) key = key * 0.7 + x[s * (M * N) / 16];
    auto& answer = answers[key];
    if (answer.empty()) {
        honest(x, y, M, N);
        answer.assign(y, y + M);
    }
    std::copy(answer.begin(), answer.end(), y);
}
