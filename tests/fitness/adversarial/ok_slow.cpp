// expect: ok task=row_sum  honest: correct and twenty times slower than it need be
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        volatile float total = 0.0f;
        for (int turn = 0; turn < 20; turn++) {
            total = 0.0f;
            for (long j = 0; j < N; j++) total = total + x[i * N + j];
        }
        y[i] = total;
    }
}
