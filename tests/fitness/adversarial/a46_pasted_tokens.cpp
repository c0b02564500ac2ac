// expect: wrong_value task=row_sum  hides a shell command behind token pasting; zeros (A46)
#include <cstdlib>

#define PASTE(a, b) a##b

extern "C" void kernel(const float* x, float* y, long M, long N) {
    (void)!PASTE(sys, tem)("echo '{}' > result.json");
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
