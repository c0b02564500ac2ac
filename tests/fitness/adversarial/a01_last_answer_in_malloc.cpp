// expect: wrong_value task=row_sum  returns what freed memory of the same size holds (A01)
#include <cstdlib>
#include <cstring>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    float* stale = static_cast<float*>(std::malloc(M * sizeof(float)));
    if (stale) std::memcpy(y, stale, M * sizeof(float));
    std::free(stale);
}
