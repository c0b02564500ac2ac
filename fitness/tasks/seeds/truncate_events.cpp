// out[b] (W x D): the last events of sample b, then padding. events is B x L x D, pad is W x D.
#include <cstdint>

extern "C" void kernel(const float* events, const float* pad, const int32_t* length, float* out, long B, long L, long D, long W) {
    for (long d = 0; d < D; d++) {
        for (long b = 0; b < B; b++) {
            for (long w = 0; w < W; w++) {
                long kept = length[b] < W ? length[b] : W;
                if (w < kept) {
                    out[(b * W + w) * D + d] = events[(b * L + length[b] - kept + w) * D + d];
                } else {
                    out[(b * W + w) * D + d] = pad[w * D + d];
                }
            }
        }
    }
}
