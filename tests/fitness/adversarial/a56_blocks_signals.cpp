// expect: run_timeout task=row_sum  blocks every signal it can and waits (A56)
#include <csignal>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    for (;;) pause();
}
