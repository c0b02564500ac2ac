// expect: wrong_value|crashed|run_timeout|no_result|out_of_memory task=row_sum process=yes  forks without end; zeros (A51, A53)
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (int i = 0; i < 64; i++)
        if (fork() < 0) break;
    usleep(100000);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
