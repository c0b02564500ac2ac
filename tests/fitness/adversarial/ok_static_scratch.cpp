// expect: ok task=softmax  honest: static scratch memory, filled anew in every call
#include <cmath>
#include <vector>

static std::vector<float> scratch;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    if ((long)scratch.size() < N) scratch.resize(N);
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += scratch[j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] = scratch[j] / total;
    }
}
