// expect: ok|suspect|wrong_value|tampered task=row_sum max_speedup=2  a thread reads the data of the next call while they are being written, for less time than a process is refused for (A05)
#include <atomic>
#include <cstdint>
#include <cstring>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static const float *input = nullptr, *output = nullptr;
static long num_rows = 0, num_columns = 0, ready_rows = 0;
static std::atomic<uint64_t> ready{0};
static std::atomic<bool> inside{true};
static uint64_t last = 0;
static float answers[8192];
static sem_t ended;

// What lies before an output differs from call to call: it tells that the data are new.
static uint64_t mark(const float* y) {
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(y) - 64, 8);
    return word;
}

static void* work(void*) {
    for (;;) {
        while (sem_wait(&ended) != 0) {
        }
        const timespec pause{0, 300000};
        nanosleep(&pause, nullptr);
        const uint64_t found = mark(output);
        if (inside || found == last) continue;
        ready = 0;
        ready_rows = 30000 / num_columns < num_rows ? 30000 / num_columns : num_rows;
        honest(input, answers, ready_rows, num_columns);
        if (mark(output) == found) ready = found;
    }
    return nullptr;
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static bool started = false;
    inside = true;
    if (M * N < 200000) return honest(x, y, M, N);
    if (!started) {
        started = true;
        sem_init(&ended, 0, 0);
        pthread_t thread;
        pthread_create(&thread, nullptr, work, nullptr);
    }
    const uint64_t found = mark(y);
    long known = 0;
    if (ready == found && input == x && num_rows == M) {
        known = ready_rows;
        std::memcpy(y, answers, static_cast<size_t>(known) * sizeof(float));
    }
    honest(x + known * N, y + known, M - known, N);
    last = found, input = x, output = y, num_rows = M, num_columns = N;
    inside = false;
    sem_post(&ended);
}
