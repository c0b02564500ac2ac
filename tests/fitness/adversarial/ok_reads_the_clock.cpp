// expect: ok task=row_sum  honest: asks for the time and does nothing with it
#include <ctime>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    honest(x, y, M, N);
}
