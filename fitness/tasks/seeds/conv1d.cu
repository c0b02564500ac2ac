// y (B x F x L) is x (B x C x L) convolved with w (F x C x K), zeros outside; one thread an element.
__global__ void convolve(const float* x, const float* w, float* y, long B, long C, long F, long L, long K) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= B * F * L) return;
    long l = at % L, f = at / L % F, b = at / (L * F);
    float total = 0.0f;
    for (long c = 0; c < C; ++c) {
        for (long k = 0; k < K; ++k) {
            long position = l + k - (K - 1) / 2;
            if (position >= 0 && position < L) total += w[(f * C + c) * K + k] * x[(b * C + c) * L + position];
        }
    }
    y[at] = total;
}

extern "C" void kernel(const float* x, const float* w, float* y, long B, long C, long F, long L, long K,
                       cudaStream_t stream) {
    convolve<<<(B * F * L + 127) / 128, 128, 0, stream>>>(x, w, y, B, C, F, L, K);
}
