// y (B x F x L) is x (B x C x L) convolved with w (F x C x K), zeros outside; one thread an element, sums in float.
#include <cuda_fp16.h>

__global__ void convolve(const __half* x, const __half* w, __half* y, long B, long C, long F, long L, long K) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= B * F * L) return;
    long l = at % L, f = at / L % F, b = at / (L * F);
    float total = 0.0f;
    for (long c = 0; c < C; ++c) {
        for (long k = 0; k < K; ++k) {
            long position = l + k - (K - 1) / 2;
            if (position < 0 || position >= L) continue;
            total += __half2float(w[(f * C + c) * K + k]) * __half2float(x[(b * C + c) * L + position]);
        }
    }
    y[at] = __float2half(total);
}

extern "C" void kernel(const __half* x, const __half* w, __half* y, long B, long C, long F, long L, long K,
                       cudaStream_t stream) {
    convolve<<<(B * F * L + 127) / 128, 128, 0, stream>>>(x, w, y, B, C, F, L, K);
}
