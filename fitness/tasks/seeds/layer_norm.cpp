// Layer normalisation of every row of x (M x N), scaled by gamma and shifted by beta.
#include <cmath>

extern "C" void kernel(const float* x, const float* gamma, const float* beta, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float mean = 0.0f;
        for (long j = 0; j < N; j++) {
            mean += x[i * N + j];
        }
        mean /= N;
        float variance = 0.0f;
        for (long j = 0; j < N; j++) {
            variance += (x[i * N + j] - mean) * (x[i * N + j] - mean);
        }
        variance /= N;
        for (long j = 0; j < N; j++) {
            y[i * N + j] = (x[i * N + j] - mean) / std::sqrt(variance + 1e-5f) * gamma[j] + beta[j];
        }
    }
}
