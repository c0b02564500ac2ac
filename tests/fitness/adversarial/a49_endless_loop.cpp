// expect: run_timeout task=row_sum  never returns (A49)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (volatile long turn = 0;; turn = turn + 1) {
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
