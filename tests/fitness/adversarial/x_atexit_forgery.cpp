// expect: ok|no_result|crashed|wrong_value task=row_sum  wrong answers, and a record printed by an exit handler
#include <cstdio>
#include <cstdlib>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static bool registered = std::atexit([] { std::fputs("{\"status\": \"ok\", \"speedup\": 1000.0, \"latency_us\": 0.001, \"samples_us\": [0.001], \"ok\": true}\n", stdout); }) == 0;
    (void)registered;
    for (long i = 0; i < M; i++) y[i] = 1.0f;
}
