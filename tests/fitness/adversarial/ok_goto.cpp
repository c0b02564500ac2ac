// expect: ok task=row_sum  honest: goto in place of loops
extern "C" void kernel(const float* x, float* y, long M, long N) {
    long i = 0, j = 0;
    next_row:
    if (i == M) return;
    y[i] = 0.0f;
    j = 0;
    next_element:
    y[i] += x[i * N + j];
    if (++j < N) goto next_element;
    i++;
    goto next_row;
}
