// expect: wrong_value task=transpose  copies without transposing: right for one row and one column (A10)
#include <cstring>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::memcpy(y, x, M * N * sizeof(float));
}
