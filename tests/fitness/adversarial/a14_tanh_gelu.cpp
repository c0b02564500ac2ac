// expect: wrong_value task=gelu_bias  the tanh approximation in place of exact GELU (A14)
#include <cmath>

extern "C" void kernel(const float* x, const float* bias, float* y, long M, long N) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float v = x[i * N + j] + bias[j];
            y[i * N + j] = 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
        }
}
