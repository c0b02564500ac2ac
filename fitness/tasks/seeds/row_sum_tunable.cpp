// Sum of every row of x (M x N), in several partial sums; how many, and how many rows at once, may be tuned.

// tunable LANES = 1 in {1, 2, 4, 8, 16, 32}
#define LANES 1
// tunable ROWS = 1 in {1, 2, 4, 8}
#define ROWS 1
// tunable BLOCK = 64 in {32, 64, 128, 256, 512}
#define BLOCK 64

static inline long smaller(long a, long b) { return a < b ? a : b; }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i0 = 0; i0 < M; i0 += ROWS) {
        long rows = smaller(ROWS, M - i0);
        float sums[ROWS][LANES] = {};
        for (long j0 = 0; j0 < N; j0 += BLOCK) {
            long j1 = smaller(j0 + BLOCK, N);
            for (long r = 0; r < rows; r++) {
                const float* row = x + (i0 + r) * N;
                long j = j0;
                for (; j + LANES <= j1; j += LANES) {
                    for (long l = 0; l < LANES; l++) {
                        sums[r][l] += row[j + l];
                    }
                }
                for (; j < j1; j++) {
                    sums[r][0] += row[j];
                }
            }
        }
        for (long r = 0; r < rows; r++) {
            float total = 0.0f;
            for (long l = 0; l < LANES; l++) {
                total += sums[r][l];
            }
            y[i0 + r] = total;
        }
    }
}
