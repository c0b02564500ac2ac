// expect: crashed|no_result|run_timeout|wrong_value|tampered task=row_sum  returns to its caller's caller by unwinding the stack by hand
extern "C" void kernel(const float* x, float* y, long M, long N) {
    (void)x, (void)y, (void)M, (void)N;
    void** frame = static_cast<void**>(__builtin_frame_address(0));
    frame[0] = nullptr;
    frame[1] = nullptr;
}
