// RMS normalisation of every row of x (M x N), scaled by w.
#include <cmath>

extern "C" void kernel(const float* x, const float* w, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            total += x[i * N + j] * x[i * N + j];
        }
        for (long j = 0; j < N; j++) {
            y[i * N + j] = x[i * N + j] / std::sqrt(total / N + 1e-6f) * w[j];
        }
    }
}
