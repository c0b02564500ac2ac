// expect: wrong_value|tampered|crashed task=row_sum  writes the answer as doubles, past the end of the output (A18, A57)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    double* wide = reinterpret_cast<double*>(y);
    for (long i = 0; i < M; i++) {
        double total = 0.0;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        wide[i] = total;
    }
}
