// expect: ok task=prefix_sum  honest: compensated summation behind a volatile
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f, lost = 0.0f;
        for (long j = 0; j < N; j++) {
            volatile float term = x[i * N + j] - lost;
            volatile float next = total + term;
            lost = (next - total) - term;
            y[i * N + j] = total = next;
        }
    }
}
