// expect: wrong_value|tampered|unrepeatable|crashed task=row_sum  returns at once, a thread fills the output later (A31)
#include <thread>
#include <unistd.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::thread([=] {
        usleep(300);
        honest(x, y, M, N);
    }).detach();
}
