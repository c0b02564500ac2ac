// y (N x M) is the transpose of x (M x N), in tiles; the sizes of the tiles may be tuned.

// tunable TILE_I = 64 in {4, 8, 16, 32, 64, 128}
#define TILE_I 64
// tunable TILE_J = 256 in {4, 8, 16, 32, 64, 128, 256}
#define TILE_J 256
// tunable ROWS_INSIDE = 0 in {0, 1}
#define ROWS_INSIDE 0

static inline long smaller(long a, long b) { return a < b ? a : b; }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i0 = 0; i0 < M; i0 += TILE_I) {
        for (long j0 = 0; j0 < N; j0 += TILE_J) {
            long i1 = smaller(i0 + TILE_I, M);
            long j1 = smaller(j0 + TILE_J, N);
            if (ROWS_INSIDE) {
                for (long j = j0; j < j1; j++) {
                    for (long i = i0; i < i1; i++) {
                        y[j * M + i] = x[i * N + j];
                    }
                }
            } else {
                for (long i = i0; i < i1; i++) {
                    for (long j = j0; j < j1; j++) {
                        y[j * M + i] = x[i * N + j];
                    }
                }
            }
        }
    }
}
