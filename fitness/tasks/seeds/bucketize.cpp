// y[i] = number of borders (B of them, ascending) below x[i].
#include <cstdint>

extern "C" void kernel(const float* x, const float* borders, int32_t* y, long N, long B) {
    for (long i = 0; i < N; i++) {
        long b = 0;
        while (b < B && borders[b] < x[i]) {
            b++;
        }
        y[i] = b;
    }
}
