// expect: crashed task=row_sum  recursion without end in a call (A54)
static long depth(long n) {
    volatile char room[1024];
    room[0] = n;
    return depth(n + 1) + room[0];
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    y[0] = depth(M);
}
