// expect: no_result|crashed|wrong_value task=row_sum  SIGKILL to its process group (A44)
#include <csignal>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    kill(0, SIGKILL);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
