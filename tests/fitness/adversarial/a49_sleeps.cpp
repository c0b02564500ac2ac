// expect: run_timeout task=row_sum  sleeps for an hour: no CPU time is used (A49)
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    sleep(3600);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
