// Exact GELU of x (M x N) plus bias (N).
#include <cmath>

extern "C" void kernel(const float* x, const float* bias, float* y, long M, long N) {
    for (long j = 0; j < N; j++) {
        for (long i = 0; i < M; i++) {
            float v = x[i * N + j] + bias[j];
            y[i * N + j] = 0.5 * v * (1.0 + erf(v / sqrt(2.0)));
        }
    }
}
