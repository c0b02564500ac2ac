// expect: ok task=softmax  honest: scratch memory on the stack
#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    float* scratch = static_cast<float*>(__builtin_alloca(N * sizeof(float)));
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += scratch[j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] = scratch[j] / total;
    }
}
