// expect: crashed|no_result|tampered task=row_sum  right, then makes the output read-only for whoever poisons it next
#include <cstdint>
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
    mprotect((void*)((uintptr_t)y & ~4095ul), 4096, PROT_READ);
}
