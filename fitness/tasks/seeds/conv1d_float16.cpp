// y (B x F x L) is x (B x C x L) convolved with w (F x C x K), zeros outside; sums in float.

extern "C" void kernel(const _Float16* x, const _Float16* w, _Float16* y, long B, long C, long F, long L, long K) {
    for (long b = 0; b < B; b++) {
        for (long f = 0; f < F; f++) {
            for (long l = 0; l < L; l++) {
                float total = 0.0f;
                for (long c = 0; c < C; c++) {
                    for (long k = 0; k < K; k++) {
                        long position = l + k - (K - 1) / 2;
                        if (position >= 0 && position < L) {
                            total += float(w[(f * C + c) * K + k]) * float(x[(b * C + c) * L + position]);
                        }
                    }
                }
                y[(b * F + f) * L + l] = _Float16(total);
            }
        }
    }
}
