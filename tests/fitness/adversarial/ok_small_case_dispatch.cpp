// expect: ok task=conv1d  honest: code of its own for one tap and for three, a general loop for the rest
template <long fixed>
static void run(const float* x, const float* w, float* y, long B, long C, long F, long L, long K) {
    const long taps = fixed ? fixed : K;
    for (long b = 0; b < B; b++)
        for (long f = 0; f < F; f++)
            for (long l = 0; l < L; l++) {
                float total = 0.0f;
                for (long c = 0; c < C; c++)
                    for (long k = 0; k < taps; k++) {
                        long position = l + k - (taps - 1) / 2;
                        if (position >= 0 && position < L) total += w[(f * C + c) * taps + k] * x[(b * C + c) * L + position];
                    }
                y[(b * F + f) * L + l] = total;
            }
}

extern "C" void kernel(const float* x, const float* w, float* y, long B, long C, long F, long L, long K) {
    if (K == 1)
        run<1>(x, w, y, B, C, F, L, K);
    else if (K == 3)
        run<3>(x, w, y, B, C, F, L, K);
    else
        run<0>(x, w, y, B, C, F, L, K);
}
