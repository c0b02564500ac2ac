// expect: wrong_value|unrepeatable task=row_sum  two threads add to one total without a lock (A24)
#include <sched.h>
#include <thread>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    auto half = [=](long begin, long end) {
        for (long i = 0; i < M; i++)
            for (long j = begin; j < end; j++) {
                float old = *(volatile float*)(y + i);
                if (j % 8 == 0) sched_yield();
                *(volatile float*)(y + i) = old + x[i * N + j];
            }
    };
    for (long i = 0; i < M; i++) y[i] = 0.0f;
    std::thread other(half, 0, N / 2);
    half(N / 2, N);
    other.join();
}
