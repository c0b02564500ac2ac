// expect: no_result|crashed|wrong_value task=row_sum  honest for ten calls, then exits with 0 (A04, A43)
#include <unistd.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static int calls = 0;
    if (calls++ == 10) _exit(0);
    honest(x, y, M, N);
}
