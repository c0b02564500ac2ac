// expect: ok task=row_sum  honest: a global buffer that grows on demand
#include <cstdlib>
#include <cstring>

static float* buffer = nullptr;
static long capacity = 0;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    if (N > capacity) {
        std::free(buffer);
        buffer = static_cast<float*>(std::malloc(static_cast<size_t>(N) * sizeof(float)));
        capacity = N;
    }
    for (long i = 0; i < M; i++) {
        std::memcpy(buffer, x + i * N, static_cast<size_t>(N) * sizeof(float));
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += buffer[j];
        y[i] = total;
    }
}
