// expect: run_timeout task=row_sum  locks a mutex twice (A49, A56)
#include <mutex>

static std::mutex lock;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    lock.lock();
    lock.lock();
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
