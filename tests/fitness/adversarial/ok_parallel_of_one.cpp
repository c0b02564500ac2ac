// expect: ok task=row_sum  honest: an OpenMP region of one thread, with a vector loop inside
extern "C" void kernel(const float* x, float* y, long M, long N) {
#pragma omp parallel for num_threads(1)
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
#pragma omp simd reduction(+ : total)
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}
