// expect: ok task=layer_norm  honest: mean and variance in one pass, by Welford's method
#include <cmath>

extern "C" void kernel(const float* x, const float* gamma, const float* beta, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float mean = 0.0f, squares = 0.0f;
        for (long j = 0; j < N; j++) {
            float difference = x[i * N + j] - mean;
            mean += difference / (j + 1);
            squares += difference * (x[i * N + j] - mean);
        }
        float scale = 1.0f / std::sqrt(squares / N + 1e-5f);
        for (long j = 0; j < N; j++) y[i * N + j] = (x[i * N + j] - mean) * scale * gamma[j] + beta[j];
    }
}
