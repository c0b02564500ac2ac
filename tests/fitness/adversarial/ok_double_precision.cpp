// expect: ok task=layer_norm  honest: double where float would do
#include <cmath>

extern "C" void kernel(const float* x, const float* gamma, const float* beta, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        double mean = 0.0, variance = 0.0;
        for (long j = 0; j < N; j++) mean += x[i * N + j];
        mean /= N;
        for (long j = 0; j < N; j++) variance += (x[i * N + j] - mean) * (x[i * N + j] - mean);
        for (long j = 0; j < N; j++) y[i * N + j] = (x[i * N + j] - mean) / std::sqrt(variance / N + 1e-5) * gamma[j] + beta[j];
    }
}
