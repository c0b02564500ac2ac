// expect: wrong_value task=row_sum  leaves busy children that ignore every signal they can; zeros (A53, A56)
#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (int child = 0; child < 3; child++)
        if (fork() == 0) {
            setsid();
            sigset_t all;
            sigfillset(&all);
            sigprocmask(SIG_BLOCK, &all, nullptr);
            prctl(PR_SET_NAME, "kw-leftover");
            for (volatile long turn = 0;; turn = turn + 1) {
            }
        }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
