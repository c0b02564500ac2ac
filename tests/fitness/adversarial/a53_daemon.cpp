// expect: wrong_value task=row_sum  leaves a daemon in a session of its own; zeros (A53)
#include <sys/prctl.h>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        prctl(PR_SET_NAME, "kw-leftover");
        for (;;) pause();
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
