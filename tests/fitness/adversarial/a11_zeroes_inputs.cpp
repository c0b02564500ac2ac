// expect: tampered|crashed task=row_sum  sets the input and the answer to zero, so that a later reference would agree (A11)
#include <cstring>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::memset(const_cast<float*>(x), 0, M * N * sizeof(float));
    std::memset(y, 0, M * sizeof(float));
}
