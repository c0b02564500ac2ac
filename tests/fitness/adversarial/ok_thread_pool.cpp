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

class Pool {
    enum { idle, working, ending } state = idle;
    std::mutex lock;
    std::condition_variable changed;
    Job job{};
    std::thread worker{[this] { serve(); }};

    void serve() {
        std::unique_lock<std::mutex> held(lock);
        for (;;) {
            changed.wait(held, [this] { return state != idle; });
            if (state == ending) return;
            honest(job.x, job.y, job.M, job.N);
            state = idle;
            changed.notify_all();
        }
    }

  public:
    void start(Job next) {
        std::lock_guard<std::mutex> held(lock);
        job = next;
        state = working;
        changed.notify_all();
    }
    void wait() {
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [this] { return state == idle; });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> held(lock);
            state = ending;
            changed.notify_all();
        }
        worker.join();
    }
};

extern "C" void kernel(const float* x, float* y, long M, long N) {
    static Pool pool;
    pool.start({x + M / 2 * N, y + M / 2, M - M / 2, N});
    honest(x, y, M / 2, N);
    pool.wait();
}
