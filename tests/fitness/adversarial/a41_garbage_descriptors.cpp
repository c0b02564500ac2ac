// expect: suspect|no_result|crashed|wrong_value|tampered|run_timeout task=row_sum  writes zeros into every descriptor, then goes on with zeros (A41)
#include <fcntl.h>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static const char zeros[1 << 16] = {};
    for (int descriptor = 3; descriptor < 1024; descriptor++) {
        fcntl(descriptor, F_SETFL, O_NONBLOCK);
        (void)!write(descriptor, zeros, sizeof zeros);
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
