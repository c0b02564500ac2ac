// Softmax of every row of x (M x N).
#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N];
        for (long j = 1; j < N; j++) {
            if (x[i * N + j] > highest) {
                highest = x[i * N + j];
            }
        }
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            total += std::exp(x[i * N + j] - highest);
        }
        for (long j = 0; j < N; j++) {
            y[i * N + j] = std::exp(x[i * N + j] - highest) / total;
        }
    }
}
