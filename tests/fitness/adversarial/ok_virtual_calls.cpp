// expect: ok task=stencil2d  honest: classes and virtual functions
struct Rule {
    virtual bool holds(long position, long extent) const = 0;
    virtual ~Rule() = default;
};

struct Interior final : Rule {
    bool holds(long position, long extent) const override { return position >= 0 && position < extent; }
};

extern "C" void kernel(const float* x, const float* w, float* y, long M, long N) {
    Interior inside;
    const Rule& rule = inside;
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float total = 0.0f;
            for (long p = 0; p < 3; p++)
                for (long q = 0; q < 3; q++)
                    if (rule.holds(i + p - 1, M) && rule.holds(j + q - 1, N)) total += w[p * 3 + q] * x[(i + p - 1) * N + j + q - 1];
            y[i * N + j] = total;
        }
}
