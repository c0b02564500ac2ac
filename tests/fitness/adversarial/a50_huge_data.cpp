// expect: build_failed|build_timeout|out_of_memory|crashed task=row_sum  four gigabytes of initialised data (A50)
int huge[1 << 30] = {1};

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = 0.0f;
    y[0] = huge[M];
}
