// expect: no_result|crashed task=row_sum  exits with 0 while it is being loaded (A39, A43)
#include <unistd.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

__attribute__((constructor)) static void leave() { _exit(0); }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
}
