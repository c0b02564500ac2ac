// expect: no_result|crashed|wrong_value|tampered task=row_sum  closes every descriptor, then writes zeros
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (int descriptor = 0; descriptor < 1024; descriptor++) close(descriptor);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
