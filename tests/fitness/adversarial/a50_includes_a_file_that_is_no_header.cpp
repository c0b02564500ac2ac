// expect: build_failed task=row_sum secret=PRETTY  includes a file of the system that is no header, under a line number of its own (A50, A52)
extern "C" void kernel(const float*, float* y, long M, long) {
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
#line 3 "kernel.cpp"
#include "/usr/include/../lib/os-release"
