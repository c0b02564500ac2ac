// expect: tampered|crashed task=softmax  right answer, but the exponentials are stored in the input (A11)
#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    float* scratch = const_cast<float*>(x);
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = std::fmax(highest, x[i * N + j]);
        for (long j = 0; j < N; j++) total += scratch[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] = scratch[i * N + j] / total;
    }
}
