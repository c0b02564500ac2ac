// expect: crashed|no_result|tampered|wrong_value task=row_sum  maps fresh zero pages over the output
#include <cstdint>
#include <sys/mman.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    mmap((void*)((uintptr_t)y & ~4095ul), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
