// expect: wrong_value task=row_sum  NaN everywhere: no comparison finds it too large (A16)
#include <cmath>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = std::nanf("");
}
