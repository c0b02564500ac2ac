// y[i][f] = number of borders of feature f (B of them, ascending) below x[i][f]; x is N x F, borders is F x B.
#include <cstdint>

extern "C" void kernel(const float* x, const float* borders, int32_t* y, long N, long F, long B) {
    for (long f = 0; f < F; f++) {
        for (long i = 0; i < N; i++) {
            long b = 0;
            while (b < B && borders[f * B + b] < x[i * F + f]) {
                b++;
            }
            y[i * F + f] = b;
        }
    }
}
