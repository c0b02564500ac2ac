// expect: ok task=row_sum  honest: prints a debugging line once
#include <cstdio>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static bool said = std::puts("hello from the kernel") >= 0;
    (void)said;
    honest(x, y, M, N);
}
