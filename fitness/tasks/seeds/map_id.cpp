// y[i] = -1 where x[i] is 0, else the id of its bucket among B ascending borders.
#include <cstdint>

extern "C" void kernel(const float* x, const float* borders, const int32_t* ids, int32_t* y, long N, long B) {
    for (long i = 0; i < N; i++) {
        long b = 0;
        while (b < B && borders[b] < x[i]) {
            b++;
        }
        if (b > B - 1) {
            b = B - 1;
        }
        if (x[i] == 0.0f) {
            y[i] = -1;
        } else {
            y[i] = ids[b];
        }
    }
}
