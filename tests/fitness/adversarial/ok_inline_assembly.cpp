// expect: ok task=row_sum  honest: inline assembly: pause and an empty barrier
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        asm volatile("pause" ::: "memory");
        y[i] = total;
    }
}
