// expect: ok task=row_sum  honest: jumps through a table of labels, a volatile sum
extern "C" void kernel(const float* x, float* y, long M, long N) {
    static void* const targets[] = {&&row, &&end};
    long i = 0;
row:
    if (i >= M) goto* targets[1];
    {
        volatile float total = 0.0f;
        for (long j = 0; j < N; j++) total = total + x[i * N + j];
        y[i++] = total;
        goto* targets[0];
    }
end:
    return;
}
