// expect: tampered|crashed task=row_sum  uses the input as scratch and puts it back afterwards (A11)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    float* scratch = const_cast<float*>(x);
    for (long i = 0; i < M; i++) {
        float first = scratch[i * N];
        for (long j = 1; j < N; j++) scratch[i * N] += scratch[i * N + j];
        y[i] = scratch[i * N];
        scratch[i * N] = first;
    }
}
