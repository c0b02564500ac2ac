// expect: ok|suspect|rejected task=row_sum max_speedup=20  defines clock_gettime, gettimeofday and clock to run slower; the kernel itself is slow (A32)
#include <ctime>
#include <sys/time.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static long ticks = 0;
extern "C" int clock_gettime(clockid_t, timespec* now) noexcept {
    now->tv_sec = 1000;
    now->tv_nsec = ticks++;
    return 0;
}
extern "C" clock_t clock() noexcept { return ticks++; }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    for (volatile long i = 0; i < 3000000; i = i + 1) {
    }
}
