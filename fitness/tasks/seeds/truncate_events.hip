// out[b] (W x D): the last events of sample b, then padding; events is B x L x D, pad is W x D. One thread an element.
__global__ void keep_latest(const float* events, const float* pad, const int* length, float* out, long B, long L,
                            long D, long W) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= B * W * D) return;
    long d = at % D, w = at / D % W, b = at / (D * W);
    long count = length[b], kept = count < W ? count : W;
    out[at] = w < kept ? events[(b * L + count - kept + w) * D + d] : pad[w * D + d];
}

extern "C" void kernel(const float* events, const float* pad, const int* length, float* out, long B, long L, long D,
                       long W, hipStream_t stream) {
    keep_latest<<<(B * W * D + 127) / 128, 128, 0, stream>>>(events, pad, length, out, B, L, D, W);
}
