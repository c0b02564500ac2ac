// expect: crashed task=row_sum  writes through a null pointer (A54)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    *(volatile float*)nullptr = x[0];
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
