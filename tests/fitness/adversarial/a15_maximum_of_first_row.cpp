// expect: wrong_value task=softmax  one maximum for the whole matrix: rows far below it vanish (A15)
#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    float highest = x[0];
    for (long i = 1; i < M * N; i++) highest = x[i] > highest ? x[i] : highest;
    for (long i = 0; i < M; i++) {
        float total = 1e-37f;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}
