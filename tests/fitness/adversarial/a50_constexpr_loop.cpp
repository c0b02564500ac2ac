// expect: build_failed|build_timeout task=row_sum  a constant that takes for ever to compute (A50)
constexpr long long spin() {
    long long total = 0;
    for (long long i = 0; i < 1LL << 60; i++) total += i;
    return total;
}
constexpr long long value = spin();

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = 0.0f;
    y[0] = value;
}
