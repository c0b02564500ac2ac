// expect: wrong_value|tampered|unrepeatable|crashed task=softmax  the second half of the rows is left to a thread that is not waited for (A31)
#include <cmath>
#include <thread>
#include <unistd.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += y[i * N + j] = std::exp(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] /= total;
    }
}

static std::thread worker;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    long half = M / 2;
    if (worker.joinable()) worker.join();
    worker = std::thread([=] {
        usleep(200);
        honest(x + half * N, y + half * N, M - half, N);
    });
    honest(x, y, half, N);
}
