// expect: wrong_value|crashed|run_timeout|no_result|out_of_memory task=row_sum  starts threads until that fails; zeros (A51)
#include <system_error>
#include <thread>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    try {
        for (;;) std::thread([] { pause(); }).detach();
    } catch (const std::system_error&) {
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
