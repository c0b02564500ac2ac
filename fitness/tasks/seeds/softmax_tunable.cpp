// Softmax of every row of x (M x N), in several partial maxima and sums; how many, and what is computed once, may be tuned.
#include <cmath>

// tunable LANES = 1 in {1, 2, 4, 8, 16, 32}
#define LANES 1
// tunable KEEP = 0 in {0, 1}
#define KEEP 0
// tunable RECIPROCAL = 0 in {0, 1}
#define RECIPROCAL 0
// tunable BLOCK = 64 in {32, 64, 128, 256, 512}
#define BLOCK 64

static inline long smaller(long a, long b) { return a < b ? a : b; }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        const float* row = x + i * N;
        float* out = y + i * N;
        float highs[LANES], sums[LANES] = {};
        for (long l = 0; l < LANES; l++) {
            highs[l] = row[0];
        }
        long whole = N - N % LANES;
        for (long j = 0; j < whole; j += LANES) {
            for (long l = 0; l < LANES; l++) {
                highs[l] = row[j + l] > highs[l] ? row[j + l] : highs[l];
            }
        }
        float highest = highs[0];
        for (long l = 1; l < LANES; l++) {
            highest = highs[l] > highest ? highs[l] : highest;
        }
        for (long j = whole; j < N; j++) {
            highest = row[j] > highest ? row[j] : highest;
        }
        // Kept exponentials wait in the output until the sum is known.
        for (long j0 = 0; j0 < N; j0 += BLOCK) {
            long j1 = smaller(j0 + BLOCK, N), j = j0;
            for (; j + LANES <= j1; j += LANES) {
                for (long l = 0; l < LANES; l++) {
                    float each = std::exp(row[j + l] - highest);
                    if (KEEP) {
                        out[j + l] = each;
                    }
                    sums[l] += each;
                }
            }
            for (; j < j1; j++) {
                float each = std::exp(row[j] - highest);
                if (KEEP) {
                    out[j] = each;
                }
                sums[0] += each;
            }
        }
        float total = 0.0f;
        for (long l = 0; l < LANES; l++) {
            total += sums[l];
        }
        float scale = 1.0f / total;
        for (long j = 0; j < N; j++) {
            float each = KEEP ? out[j] : std::exp(row[j] - highest);
            out[j] = RECIPROCAL ? each * scale : each / total;
        }
    }
}
