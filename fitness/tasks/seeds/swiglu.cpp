// SwiGLU of two M x N matrices.
#include <cmath>

extern "C" void kernel(const float* gate, const float* up, float* y, long M, long N) {
    for (long j = 0; j < N; j++) {
        for (long i = 0; i < M; i++) {
            float g = gate[i * N + j];
            y[i * N + j] = g / (1.0 + std::exp(-g)) * up[i * N + j];
        }
    }
}
