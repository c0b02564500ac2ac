// expect: wrong_value task=bucketize  writes the right indices as floats into the int output (A18)
#include <cstdint>
#include <cstring>

extern "C" void kernel(const float* x, const float* borders, int32_t* y, long N, long B) {
    for (long i = 0; i < N; i++) {
        long b = 0;
        while (b < B && borders[b] < x[i]) b++;
        float index = b;
        std::memcpy(y + i, &index, sizeof index);
    }
}
