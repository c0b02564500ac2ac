// expect: wrong_value task=row_sum  computes once a size, then replays that answer (A02)
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static std::map<std::pair<long, long>, std::vector<float>> answers;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    auto& answer = answers[{M, N}];
    if (answer.empty()) {
        honest(x, y, M, N);
        answer.assign(y, y + M);
    }
    std::copy(answer.begin(), answer.end(), y);
}
