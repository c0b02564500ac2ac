// expect: wrong_value task=softmax  all zeros (A08)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M * N; i++) y[i] = 0.0f;
}
