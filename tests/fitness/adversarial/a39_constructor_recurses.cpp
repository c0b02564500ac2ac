// expect: crashed task=row_sum  endless recursion in a static constructor (A39, A54)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static long depth(long n) {
    volatile char room[4096];
    room[0] = n;
    return depth(n + 1) + room[0];
}

__attribute__((constructor)) static void dive() { depth(0); }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
}
