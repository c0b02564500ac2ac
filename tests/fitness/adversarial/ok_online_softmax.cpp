// expect: ok task=softmax  honest: a running maximum with rescaling
#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = -INFINITY, total = 0.0f;
        for (long j = 0; j < N; j++) {
            float next = std::fmax(highest, x[i * N + j]);
            total = total * std::exp(highest - next) + std::exp(x[i * N + j] - next);
            highest = next;
        }
        for (long j = 0; j < N; j++) y[i * N + j] = std::exp(x[i * N + j] - highest) / total;
    }
}
