// expect: crashed|out_of_memory task=row_sum  a gigabyte on the stack (A51, A54)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    volatile char* room = static_cast<volatile char*>(__builtin_alloca(1ul << 30));
    for (long i = (1l << 30) - 1; i >= 0; i -= 4096) room[i] = 1;
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
