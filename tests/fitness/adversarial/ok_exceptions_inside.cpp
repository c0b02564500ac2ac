// expect: ok task=bucketize  honest: throws and catches for itself
#include <algorithm>
#include <cstdint>
#include <stdexcept>

extern "C" void kernel(const float* x, const float* borders, int32_t* y, long N, long B) {
    for (long i = 0; i < N; i++) {
        try {
            if (B == 0) throw std::length_error("no borders");
            y[i] = std::lower_bound(borders, borders + B, x[i]) - borders;
        } catch (const std::length_error&) {
            y[i] = 0;
        }
    }
}
