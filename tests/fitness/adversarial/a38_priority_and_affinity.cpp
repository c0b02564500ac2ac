// expect: ok|crashed task=row_sum max_speedup=10  asks for real-time priority, all processors and no limits (A38)
#include <cstring>
#include <initializer_list>
#include <sched.h>
#include <sys/resource.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    sched_param highest{99};
    cpu_set_t all;
    std::memset(&all, 0xFF, sizeof all);
    rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    sched_setscheduler(0, SCHED_FIFO, &highest);
    sched_setaffinity(0, sizeof all, &all);
    setpriority(PRIO_PROCESS, 0, -20);
    for (auto kind : {RLIMIT_CPU, RLIMIT_AS, RLIMIT_NPROC, RLIMIT_FSIZE}) setrlimit(kind, &unlimited);
    honest(x, y, M, N);
}
