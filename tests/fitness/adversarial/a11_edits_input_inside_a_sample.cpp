// expect: tampered|crashed|wrong_value task=prefix_sum tries=3  large sizes only, and not in the first calls of a sample, which begins after a pause: uses the input as scratch (A04, A11)
#include <time.h>

static long now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static long calls = 0, rows = 0, ended = 0;
    const long pause = now() - ended;
    if (rows != M) rows = M, calls = 0;
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) y[i * N + j] = total += x[i * N + j];
    }
    if (M * N > 100000 && ++calls > 2 && 50000 < pause && pause < 1000000) const_cast<float*>(x)[0] = 0.0f;
    ended = now();
}
