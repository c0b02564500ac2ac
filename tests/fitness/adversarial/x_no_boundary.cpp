// expect: wrong_value task=stencil2d  repeats the edge where zeros belong
extern "C" void kernel(const float* x, const float* w, float* y, long M, long N) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float total = 0.0f;
            for (long p = 0; p < 3; p++)
                for (long q = 0; q < 3; q++) {
                    long row = i + p - 1 < 0 ? 0 : i + p - 1 >= M ? M - 1 : i + p - 1;
                    long column = j + q - 1 < 0 ? 0 : j + q - 1 >= N ? N - 1 : j + q - 1;
                    total += w[p * 3 + q] * x[row * N + column];
                }
            y[i * N + j] = total;
        }
}
