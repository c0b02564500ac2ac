// expect: crashed task=row_sum  an integer division by zero (A54)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    volatile long zero = 0;
    for (long i = 0; i < M; i++) y[i] = 0.0f;
    y[0] = M / zero;
}
