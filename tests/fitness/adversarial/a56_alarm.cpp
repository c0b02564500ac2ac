// expect: crashed|no_result|wrong_value|run_timeout|unrepeatable|tampered task=row_sum  a signal handler that fills the outputs with zeros later (A56)
#include <csignal>
#include <sys/time.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static float* volatile last;
static volatile long size;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    last = y;
    size = M;
    signal(SIGALRM, [](int) {
        for (long i = 0; i < size; i++) last[i] = 0.0f;
    });
    itimerval soon{{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    honest(x, y, M, N);
}
