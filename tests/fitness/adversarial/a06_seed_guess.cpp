// expect: wrong_value task=row_sum  prepares answers from the default seed instead of reading x (A06)
#include <random>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::mt19937 generator(0);
    std::normal_distribution<float> normal;
    for (long i = 0; i < M; i++) {
        y[i] = 0.0f;
        for (long j = 0; j < N; j++) y[i] += normal(generator);
    }
}
