// expect: wrong_value task=softmax  leaves the output as it finds it, in case an answer lies there (A01)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    (void)x, (void)y, (void)M, (void)N;
}
