// out = norm(norm(gelu(x w1)) w2) for each of B samples: x and out are M x D, w1 is D x F, w2 is F x D.
#include <cmath>
#include <vector>

static void multiply(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M; i++) {
        for (long j = 0; j < N; j++) {
            c[i * N + j] = 0.0f;
            for (long k = 0; k < K; k++) {
                c[i * N + j] += a[i * K + k] * b[k * N + j];
            }
        }
    }
}

static void normalise(float* v, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            total += v[i * N + j] * v[i * N + j];
        }
        for (long j = 0; j < N; j++) {
            v[i * N + j] /= std::sqrt(total / N + 1e-6f);
        }
    }
}

extern "C" void kernel(const float* x, const float* w1, const float* w2, float* out, long B, long M, long D, long F) {
    std::vector<float> hidden(M * F);
    for (long b = 0; b < B; b++) {
        multiply(x + b * M * D, w1 + b * D * F, hidden.data(), M, F, D);
        for (long i = 0; i < M * F; i++) {
            hidden[i] = 0.5f * hidden[i] * (1.0f + std::erf(hidden[i] / std::sqrt(2.0f)));
        }
        normalise(hidden.data(), M, F);
        multiply(hidden.data(), w2 + b * F * D, out + b * M * D, M, D, F);
        normalise(out + b * M * D, M, D);
    }
}
