// expect: ok task=row_sum  honest: templates and fold expressions
#include <cstddef>
#include <utility>

template <size_t... lanes>
static float chunk(const float* x, std::index_sequence<lanes...>) {
    return (x[lanes] + ...);
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        long j = 0;
        for (; j + 16 <= N; j += 16) total += chunk(x + i * N + j, std::make_index_sequence<16>());
        for (; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}
