// expect: tampered|crashed|wrong_value task=row_sum  a thread edits the input after the call has returned (A11, A31)
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
    honest(x, y, M, N);
    std::thread([=] {
        for (int turn = 0; turn < 2000; turn++) {
            usleep(50);
            const_cast<float*>(x)[0] = 0.25f;
        }
    }).detach();
}
