// expect: wrong_value task=softmax  keeps the answer while the first row is the same (A02)
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

static std::vector<float> row, answer;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    bool same = (long)row.size() == N && std::equal(row.begin(), row.end(), x) && (long)answer.size() == M * N;
    if (!same) {
        honest(x, y, M, N);
        row.assign(x, x + N);
        answer.assign(y, y + M * N);
    }
    std::copy(answer.begin(), answer.end(), y);
}
