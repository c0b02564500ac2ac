// expect: tampered|crashed task=row_sum  makes the input writable first, then zeroes it (A11)
#include <cstdint>
#include <cstring>
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
    uintptr_t begin = (uintptr_t)x & ~4095ul, end = ((uintptr_t)(x + M * N) + 4095) & ~4095ul;
    mprotect((void*)begin, end - begin, PROT_READ | PROT_WRITE);
    std::memset(const_cast<float*>(x), 0, M * N * sizeof(float));
}
