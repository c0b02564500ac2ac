// out[b] = x[b] (x[b]^T y): x is B x N x D, y is N x K, out is B x N x K; one thread an element of out, which
// computes the column of x[b]^T y that it needs anew.
__global__ void interact(const float* x, const float* y, float* out, long B, long N, long D, long K) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= B * N * K) return;
    long k = at % K, n = at / K % N, b = at / (K * N);
    float total = 0.0f;
    for (long d = 0; d < D; ++d) {
        float inner = 0.0f;
        for (long m = 0; m < N; ++m) inner += x[(b * N + m) * D + d] * y[m * K + k];
        total += x[(b * N + n) * D + d] * inner;
    }
    out[at] = total;
}

extern "C" void kernel(const float* x, const float* y, float* out, long B, long N, long D, long K,
                       cudaStream_t stream) {
    interact<<<(B * N * K + 127) / 128, 128, 0, stream>>>(x, y, out, B, N, D, K);
}
