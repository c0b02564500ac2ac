// expect: ok task=row_sum  honest: pairwise summation by recursion
static float pairwise(const float* x, long n) {
    return n == 1 ? x[0] : pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = pairwise(x + i * N, N);
}
