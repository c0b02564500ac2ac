// expect: wrong_value task=prefix_sum  an exclusive scan: off by one element
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) {
            y[i * N + j] = total;
            total += x[i * N + j];
        }
    }
}
