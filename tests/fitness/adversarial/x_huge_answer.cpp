// expect: wrong_value task=row_sum  adds 1e30 and takes it away again: all digits are lost
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        volatile float total = 1e30f;
        for (long j = 0; j < N; j++) total = total + x[i * N + j];
        y[i] = total - 1e30f;
    }
}
