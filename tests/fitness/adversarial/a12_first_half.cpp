// expect: wrong_value task=layer_norm  normalises the first half of the rows, copies the rest (A12)
#include <cmath>

extern "C" void kernel(const float* x, const float* gamma, const float* beta, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float mean = 0.0f, variance = 0.0f;
        for (long j = 0; j < N; j++) mean += x[i * N + j] / N;
        for (long j = 0; j < N; j++) variance += (x[i * N + j] - mean) * (x[i * N + j] - mean) / N;
        float scale = 2 * i < M ? 1.0f / std::sqrt(variance + 1e-5f) : 1.0f;
        for (long j = 0; j < N; j++) y[i * N + j] = (x[i * N + j] - mean) * scale * gamma[j] + beta[j];
    }
}
