// expect: wrong_value|tampered|crashed|run_timeout task=row_sum  takes the sizes in another order and type (A29)
extern "C" void kernel(const double* x, double* y, int N, int M) {
    for (int i = 0; i < M; i++) {
        y[i] = 0.0;
        for (int j = 0; j < N; j++) y[i] += x[i * N + j];
    }
}
