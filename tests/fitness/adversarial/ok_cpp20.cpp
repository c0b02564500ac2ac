// expect: ok task=row_sum  honest: concepts, ranges, spans and constinit of C++20
#include <bit>
#include <concepts>
#include <ranges>
#include <span>

template <std::floating_point T>
static T total(std::span<const T> row) {
    T sum{};
    for (auto value : row) sum += value;
    return sum;
}

struct Options {
    int first;
    int second = 2;
};
static constinit Options options{.first = 1};

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static_assert(std::bit_ceil(5u) == 8);
    for (long i : std::views::iota(0l, M)) {
        if (options.first > 0) [[likely]] y[i] = total(std::span<const float>(x + i * N, static_cast<unsigned long>(N)));
    }
}
