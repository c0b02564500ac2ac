// out[b] = x[b] (x[b]^T y): x is B x N x D, y is N x K, out is B x N x K.
#include <vector>

extern "C" void kernel(const float* x, const float* y, float* out, long B, long N, long D, long K) {
    std::vector<float> inner(D * K);
    for (long b = 0; b < B; b++) {
        for (long d = 0; d < D; d++) {
            for (long k = 0; k < K; k++) {
                float total = 0.0f;
                for (long n = 0; n < N; n++) {
                    total += x[(b * N + n) * D + d] * y[n * K + k];
                }
                inner[d * K + k] = total;
            }
        }
        for (long n = 0; n < N; n++) {
            for (long k = 0; k < K; k++) {
                float total = 0.0f;
                for (long d = 0; d < D; d++) {
                    total += x[(b * N + n) * D + d] * inner[d * K + k];
                }
                out[(b * N + n) * K + k] = total;
            }
        }
    }
}
