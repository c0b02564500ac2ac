// expect: crashed task=row_sum  throws an exception out of a C function (A54)
#include <stdexcept>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    throw std::runtime_error("no");
}
