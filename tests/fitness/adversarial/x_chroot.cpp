// expect: wrong_value|crashed|no_result task=row_sum  moves root and current folder elsewhere; zeros
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    (void)!chdir("/tmp");
    (void)!chroot("/tmp");
    (void)!chdir("/");
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
