// expect: build_failed|build_timeout task=row_sum  templates whose number doubles with each level (A50)
template <int depth, long path>
struct Bomb {
    static constexpr long value = Bomb<depth - 1, 2 * path>::value + Bomb<depth - 1, 2 * path + 1>::value;
};
template <long path>
struct Bomb<0, path> {
    static constexpr long value = path;
};

extern "C" void kernel(const float* x, float* y, long M, long N) {
    (void)x;
    for (long i = 0; i < M; i++) y[i] = 0.0f;
    y[0] = Bomb<28, 0>::value;
}
