// expect: crashed|run_timeout|no_result|wrong_value|out_of_memory task=row_sum  sets its own CPU, file and memory limits to nothing; zeros
#include <initializer_list>
#include <sys/resource.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    rlimit nothing{0, 0};
    for (auto kind : {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_CPU}) setrlimit(kind, &nothing);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
