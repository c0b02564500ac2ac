// expect: no_result|crashed|wrong_value task=row_sum  SIGKILL to its parent; zeros (A44)
#include <csignal>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    if (getppid() > 1) kill(getppid(), SIGKILL);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
