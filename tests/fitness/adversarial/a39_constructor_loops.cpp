// expect: run_timeout task=row_sum  an endless static constructor (A39, A49)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

__attribute__((constructor)) static void forever() {
    for (volatile int turn = 0;; turn = turn + 1) {
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
}
