// expect: out_of_memory|crashed|wrong_value task=row_sum  maps memory until the kernel refuses; zeros (A51)
#include <sys/mman.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    while (mmap(nullptr, 1ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
