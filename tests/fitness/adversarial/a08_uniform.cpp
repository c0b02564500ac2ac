// expect: wrong_value task=softmax  1 / N everywhere: every row sums to one (A08)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M * N; i++) y[i] = 1.0f / N;
}
