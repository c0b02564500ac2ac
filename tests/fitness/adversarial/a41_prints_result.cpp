// expect: no_result|crashed task=row_sum  prints a result record and exits with 0 (A41)
#include <cstdio>
#include <cstdlib>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::fputs("{\"status\": \"ok\", \"speedup\": 1000.0, \"latency_us\": 0.001, \"samples_us\": [0.001], \"ok\": true}\n", stdout);
    std::fputs("{\"status\": \"ok\", \"speedup\": 1000.0, \"latency_us\": 0.001, \"samples_us\": [0.001], \"ok\": true}\n", stderr);
    std::fflush(stdout);
    std::exit(0);
}
