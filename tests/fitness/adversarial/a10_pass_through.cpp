// expect: wrong_value task=gelu_bias  returns the input, which GELU is for large values (A10)
extern "C" void kernel(const float* x, const float* bias, float* y, long M, long N) {
    for (long i = 0; i < M * N; i++) y[i] = x[i] > 0 ? x[i] : 0.0f;
}
