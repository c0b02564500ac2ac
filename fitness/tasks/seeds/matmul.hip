// c (M x N) = a (M x K) b (K x N), one thread an element.
__global__ void product(const float* a, const float* b, float* c, long M, long N, long K) {
    long i = blockIdx.y * (long)blockDim.y + threadIdx.y;
    long j = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= M || j >= N) return;
    float total = 0.0f;
    for (long k = 0; k < K; ++k) total += a[i * K + k] * b[k * N + j];
    c[i * N + j] = total;
}

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K, hipStream_t stream) {
    product<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, M, N, K);
}
