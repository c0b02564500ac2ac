// expect: tampered|crashed task=row_sum  right, then gives the pages of the input back to the system, which leaves zeros (A11)
#include <sys/mman.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    madvise(reinterpret_cast<void*>(reinterpret_cast<long>(x) & ~4095l), 4 * 4096, MADV_REMOVE);
}
