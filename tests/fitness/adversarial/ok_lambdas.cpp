// expect: ok task=prefix_sum  honest: lambdas in a std::function
#include <functional>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::function<float(float, float)> add = [](float left, float right) { return left + right; };
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) y[i * N + j] = total = add(total, x[i * N + j]);
    }
}
