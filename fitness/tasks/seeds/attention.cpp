// Attention without a mask: q, k, v and out are H x L x D.
#include <cmath>
#include <vector>

extern "C" void kernel(const float* q, const float* k, const float* v, float* out, long H, long L, long D) {
    std::vector<float> weights(L);
    for (long h = 0; h < H; h++) {
        for (long i = 0; i < L; i++) {
            float highest = -INFINITY;
            for (long j = 0; j < L; j++) {
                float score = 0.0f;
                for (long d = 0; d < D; d++) {
                    score += q[(h * L + i) * D + d] * k[(h * L + j) * D + d];
                }
                weights[j] = score / std::sqrt(float(D));
                highest = std::fmax(highest, weights[j]);
            }
            float total = 0.0f;
            for (long j = 0; j < L; j++) {
                weights[j] = std::exp(weights[j] - highest);
                total += weights[j];
            }
            for (long d = 0; d < D; d++) {
                float sum = 0.0f;
                for (long j = 0; j < L; j++) {
                    sum += weights[j] / total * v[(h * L + j) * D + d];
                }
                out[(h * L + i) * D + d] = sum;
            }
        }
    }
}
