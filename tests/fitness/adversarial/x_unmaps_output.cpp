// expect: crashed|no_result|tampered|wrong_value task=row_sum  unmaps the pages of the output
#include <cstdint>
#include <sys/mman.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    munmap((void*)((uintptr_t)y & ~4095ul), 4096);
}
