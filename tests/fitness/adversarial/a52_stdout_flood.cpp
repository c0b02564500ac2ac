// expect: wrong_value|crashed|no_result|run_timeout task=row_sum  a hundred megabytes on both outputs; zeros (A52)
#include <string>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::string line(1 << 16, 'x');
    for (int i = 0; i < 800; i++) {
        (void)!write(1, line.data(), line.size());
        (void)!write(2, line.data(), line.size());
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
