// expect: wrong_value task=row_sum  attaches to its parent with ptrace and pokes at it; zeros (A34)
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    pid_t parent = getppid();
    if (ptrace(PTRACE_ATTACH, parent, nullptr, nullptr) == 0) {
        waitpid(parent, nullptr, 0);
        ptrace(PTRACE_POKEDATA, parent, (void*)0x400000, nullptr);
        ptrace(PTRACE_DETACH, parent, nullptr, nullptr);
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
