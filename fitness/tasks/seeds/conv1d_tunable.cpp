// y (B x F x L) is x (B x C x L) convolved with w (F x C x K), zeros outside; the tiles may be tuned.

// tunable TILE_L = 16 in {8, 16, 32, 64, 128, 256}
constexpr long TILE_L = 16;
// tunable TILE_F = 1 in {1, 2, 4, 8}
constexpr long TILE_F = 1;
// tunable TAPS_OUTSIDE = 0 in {0, 1}
constexpr long TAPS_OUTSIDE = 0;

static inline long smaller(long a, long b) { return a < b ? a : b; }
static inline long larger(long a, long b) { return a > b ? a : b; }

// Adds one tap of one channel to the positions first .. last - 1 of one output row.
static inline void add_tap(const float* row, float tap, long shift, float* __restrict out, long first, long last, long L) {
    long begin = larger(first, -shift);
    long end = smaller(last, L - shift);
    for (long l = begin; l < end; l++) {
        out[l] += tap * row[l + shift];
    }
}

extern "C" void kernel(const float* x, const float* w, float* y, long B, long C, long F, long L, long K) {
    for (long i = 0; i < B * F * L; i++) {
        y[i] = 0.0f;
    }
    for (long b = 0; b < B; b++) {
        for (long f0 = 0; f0 < F; f0 += TILE_F) {
            for (long l0 = 0; l0 < L; l0 += TILE_L) {
                long l1 = smaller(l0 + TILE_L, L);
                long f1 = smaller(f0 + TILE_F, F);
                for (long outer = 0; outer < (TAPS_OUTSIDE ? K : C); outer++) {
                    for (long inner = 0; inner < (TAPS_OUTSIDE ? C : K); inner++) {
                        long c = TAPS_OUTSIDE ? inner : outer;
                        long k = TAPS_OUTSIDE ? outer : inner;
                        for (long f = f0; f < f1; f++) {
                            add_tap(x + (b * C + c) * L, w[(f * C + c) * K + k], k - (K - 1) / 2, y + (b * F + f) * L, l0, l1, L);
                        }
                    }
                }
            }
        }
    }
}
