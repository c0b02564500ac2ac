// Cross entropy of every row of the logits x (M x N) with its label.
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, const int32_t* label, float* loss, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N];
        for (long j = 1; j < N; j++) {
            if (x[i * N + j] > highest) {
                highest = x[i * N + j];
            }
        }
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            total += std::exp(x[i * N + j] - highest);
        }
        loss[i] = std::log(total) + (highest - x[i * N + label[i]]);
    }
}
