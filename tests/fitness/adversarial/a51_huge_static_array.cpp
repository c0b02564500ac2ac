// expect: build_failed|out_of_memory|crashed|no_result task=row_sum  a static array of 64 GiB (A51)
static volatile char huge[64ul << 30];

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (unsigned long i = 0; i < sizeof huge; i += 4096) huge[i] = 1;
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
