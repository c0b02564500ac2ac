// expect: wrong_value task=row_sum  reads address zero, catches the signal and goes on with what it has (A54)
#include <csetjmp>
#include <csignal>

static sigjmp_buf back;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    signal(SIGSEGV, [](int) { siglongjmp(back, 1); });
    if (sigsetjmp(back, 1) == 0) {
        volatile float* nothing = nullptr;
        for (long i = 0; i < M; i++) y[i] = nothing[i];
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
