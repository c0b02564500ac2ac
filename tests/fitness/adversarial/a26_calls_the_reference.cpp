// expect: wrong_value task=row_sum  looks for a reference or baseline in the process and calls it (A26)
#include <dlfcn.h>
#include <initializer_list>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    using Function = void (*)(const float*, float*, long, long);
    for (const char* name : {"reference", "kernel_reference", "baseline", "kernel_baseline", "expected"})
        if (auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name))) return function(x, y, M, N);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
