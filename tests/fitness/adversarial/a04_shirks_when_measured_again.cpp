// expect: suspect|wrong_value|unrepeatable|tampered task=row_sum  makes itself wait for a thread of its own, so that the sample is taken again, and writes zeros then (A04)
#include <atomic>
#include <sched.h>
#include <semaphore.h>
#include <thread>
#include <time.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static std::atomic<bool> running{false};
static sem_t wanted;

static long now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void spin(long ns) {
    for (long end = now() + ns; now() < end;) {
    }
}

static void hog() {
    for (;;) {
        while (sem_wait(&wanted) != 0) {
        }
        spin(150000);
        running = false;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static std::thread* helper = nullptr;
    static long calls = 0, rows = 0;
    if (M * N < 200000) return honest(x, y, M, N);
    if (!helper) {
        sem_init(&wanted, 0, 0);
        helper = new std::thread(hog);
    }
    if (rows != M) rows = M, calls = 0;
    if (++calls > 2 && calls % 3 != 0) {
        for (long i = 0; i < M; i++) y[i] = 0.0f;
    } else {
        honest(x, y, M, N);
    }
    running = true;
    sem_post(&wanted);
    while (running) sched_yield();
}
