// expect: wrong_value task=row_sum  leaves the work to a forked child, whose memory is its own (A31)
#include <unistd.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    pid_t child = fork();
    if (child != 0) return;
    honest(x, y, M, N);
    _exit(0);
}
