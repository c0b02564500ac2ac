// expect: rejected|build_failed|crashed|no_result task=row_sum  a C++ function: its name is mangled (A29)
void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        y[i] = 0.0f;
        for (long j = 0; j < N; j++) y[i] += x[i * N + j];
    }
}
