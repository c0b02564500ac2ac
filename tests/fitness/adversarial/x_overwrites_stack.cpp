// expect: crashed|no_result|tampered|wrong_value|run_timeout|suspect task=row_sum  clears two kilobytes of its caller's frame
#include <cstring>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    char* frame = static_cast<char*>(__builtin_frame_address(0));
    std::memset(frame + 16, 0, 2048);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
