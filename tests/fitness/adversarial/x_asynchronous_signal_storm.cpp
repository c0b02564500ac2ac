// expect: wrong_value task=row_sum  a child that keeps signalling its parent; zeros
#include <csignal>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    signal(SIGUSR1, SIG_IGN);
    pid_t parent = getpid();
    if (fork() == 0)
        for (;;) {
            kill(parent, SIGUSR1);
            usleep(100);
        }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
