// expect: crashed|no_result|tampered|wrong_value task=row_sum  moves the page of the output elsewhere
#include <sys/mman.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    char* page = reinterpret_cast<char*>(reinterpret_cast<long>(y) & ~4095l);
    mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, page + (1l << 32));
    honest(x, y, M, N);
}
