// Gradients of RMS normalisation: dx (M x N) and dw (N) from dy, x (M x N) and w (N).
#include <cmath>

extern "C" void kernel(const float* dy, const float* x, const float* w, float* dx, float* dw, long M, long N) {
    for (long j = 0; j < N; j++) {
        dw[j] = 0.0f;
    }
    for (long i = 0; i < M; i++) {
        float squares = 0.0f;
        for (long j = 0; j < N; j++) {
            squares += x[i * N + j] * x[i * N + j];
        }
        float r = 1.0f / std::sqrt(squares / N + 1e-6f);
        float c = 0.0f;
        for (long j = 0; j < N; j++) {
            c += dy[i * N + j] * w[j] * x[i * N + j];
        }
        for (long j = 0; j < N; j++) {
            dx[i * N + j] = r * (dy[i * N + j] * w[j] - x[i * N + j] * r * r * c / N);
            dw[j] += dy[i * N + j] * x[i * N + j] * r;
        }
    }
}
