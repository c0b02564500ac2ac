// expect: wrong_value task=softmax  no subtraction of the maximum: right on N(0, 1), overflows beyond (A15)
#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j]);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}
