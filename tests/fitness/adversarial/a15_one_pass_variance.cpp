// expect: wrong_value task=layer_norm  E[x^2] - mean^2: cancels when the mean is large (A15)
#include <cmath>

extern "C" void kernel(const float* x, const float* gamma, const float* beta, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float sum = 0.0f, squares = 0.0f;
        for (long j = 0; j < N; j++) sum += x[i * N + j], squares += x[i * N + j] * x[i * N + j];
        float mean = sum / N, variance = std::fmax(squares / N - mean * mean, 0.0f), scale = 1.0f / std::sqrt(variance + 1e-5f);
        for (long j = 0; j < N; j++) y[i * N + j] = (x[i * N + j] - mean) * scale * gamma[j] + beta[j];
    }
}
