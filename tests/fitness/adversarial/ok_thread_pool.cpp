// expect: ok task=row_sum  honest: a pool of its own that lives across calls; each call waits for it
#include <condition_variable>
#include <mutex>
#include <thread>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

struct Job {
    const float* x;
    float* y;
    long M, N;
};
static std::mutex lock;
static std::condition_variable changed;
static Job job;
static int state = 0;

static void serve(std::stop_token stop) {
    std::unique_lock<std::mutex> held(lock);
    std::stop_callback wake(stop, [] { changed.notify_all(); });
    while (!stop.stop_requested()) {
        changed.wait(held, [&] { return state == 1 || stop.stop_requested(); });
        if (state == 1) honest(job.x, job.y, job.M, job.N);
        state = 0;
        changed.notify_all();
    }
}

static std::jthread worker;

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::unique_lock<std::mutex> held(lock);
    if (!worker.joinable()) worker = std::jthread(serve);
    job = {x + M / 2 * N, y + M / 2, M - M / 2, N};
    state = 1;
    changed.notify_all();
    held.unlock();
    honest(x, y, M / 2, N);
    held.lock();
    changed.wait(held, [] { return state == 0; });
}
