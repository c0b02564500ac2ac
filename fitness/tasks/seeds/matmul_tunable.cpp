// c = a b for a (M x K) and b (K x N), in tiles; the sizes of the tiles may be tuned.

// tunable TILE_I = 16 in {4, 8, 16, 32, 64, 128}
#define TILE_I 16
// tunable TILE_J = 16 in {8, 16, 32, 64, 128, 256}
#define TILE_J 16
// tunable TILE_K = 16 in {8, 16, 32, 64, 128, 256}
#define TILE_K 16
// tunable UNROLL = 1 in {1, 2, 4, 8}
#define UNROLL 1

static inline long smaller(long a, long b) { return a < b ? a : b; }

static void add_tile(const float* a, const float* b, float* __restrict c, long N, long K, long rows, long columns, long depth) {
    for (long i = 0; i < rows; i++) {
        long k = 0;
        for (; k + UNROLL <= depth; k += UNROLL) {
            for (long j = 0; j < columns; j++) {
                float total = c[i * N + j];
                for (long u = 0; u < UNROLL; u++) {
                    total += a[i * K + k + u] * b[(k + u) * N + j];
                }
                c[i * N + j] = total;
            }
        }
        for (; k < depth; k++) {
            for (long j = 0; j < columns; j++) {
                c[i * N + j] += a[i * K + k] * b[k * N + j];
            }
        }
    }
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    for (long i = 0; i < M * N; i++) {
        c[i] = 0.0f;
    }
    for (long i = 0; i < M; i += TILE_I) {
        for (long k = 0; k < K; k += TILE_K) {
            for (long j = 0; j < N; j += TILE_J) {
                add_tile(a + i * K + k, b + k * N + j, c + i * N + j, N, K, smaller(TILE_I, M - i), smaller(TILE_J, N - j), smaller(TILE_K, K - k));
            }
        }
    }
}
