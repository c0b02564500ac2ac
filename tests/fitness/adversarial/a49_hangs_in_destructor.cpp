// expect: ok|run_timeout|no_result task=row_sum max_speedup=30  right, but a static destructor never ends (A49)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

struct Forever {
    ~Forever() {
        for (volatile int turn = 0;; turn = turn + 1) {
        }
    }
};
static Forever forever;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
}
