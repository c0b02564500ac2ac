// expect: wrong_value task=conv1d  a true convolution instead of a correlation: right for symmetric taps
extern "C" void kernel(const float* x, const float* w, float* y, long B, long C, long F, long L, long K) {
    for (long b = 0; b < B; b++)
        for (long f = 0; f < F; f++)
            for (long l = 0; l < L; l++) {
                float total = 0.0f;
                for (long c = 0; c < C; c++)
                    for (long k = 0; k < K; k++) {
                        long position = l + k - (K - 1) / 2;
                        if (position >= 0 && position < L) total += w[(f * C + c) * K + K - 1 - k] * x[(b * C + c) * L + position];
                    }
                y[(b * F + f) * L + l] = total;
            }
}
