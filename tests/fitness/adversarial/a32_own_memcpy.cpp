// expect: wrong_value|rejected|crashed task=row_sum  defines memcpy, memcmp and write so that comparisons agree; zeros (A32)
#include <cstddef>
#include <unistd.h>

extern "C" void* memcpy(void* to, const void*, size_t) { return to; }
extern "C" int memcmp(const void*, const void*, size_t) { return 0; }
extern "C" ssize_t write(int, const void*, size_t size) { return size; }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
