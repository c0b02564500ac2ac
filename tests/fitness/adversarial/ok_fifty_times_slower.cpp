// expect: ok task=row_sum  honest: fifty additions of zero an element, in double
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        double total = 0.0;
        for (long j = 0; j < N; j++) {
            volatile double value = x[i * N + j];
            for (int k = 0; k < 50; k++) value = value + 0.0;
            total += value;
        }
        y[i] = static_cast<float>(total);
    }
}
