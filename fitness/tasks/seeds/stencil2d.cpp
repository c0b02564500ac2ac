// A 3 x 3 stencil w on the grid x (M x N), zeros outside.

extern "C" void kernel(const float* x, const float* w, float* y, long M, long N) {
    for (long j = 0; j < N; j++) {
        for (long i = 0; i < M; i++) {
            float total = 0.0f;
            for (long p = 0; p < 3; p++) {
                for (long q = 0; q < 3; q++) {
                    long row = i + p - 1;
                    long column = j + q - 1;
                    if (row >= 0 && row < M && column >= 0 && column < N) {
                        total += w[p * 3 + q] * x[row * N + column];
                    }
                }
            }
            y[i * N + j] = total;
        }
    }
}
