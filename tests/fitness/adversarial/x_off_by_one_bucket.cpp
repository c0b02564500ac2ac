// expect: wrong_value task=bucketize  counts borders that are equal too: differs only where a value hits a border
#include <cstdint>

extern "C" void kernel(const float* x, const float* borders, int32_t* y, long N, long B) {
    for (long i = 0; i < N; i++) {
        long b = 0;
        while (b < B && borders[b] <= x[i]) b++;
        y[i] = b;
    }
}
