// y[i][f] = number of borders of feature f (B of them, ascending) below x[i][f]; one thread a value.
__global__ void count_below(const float* x, const float* borders, int* y, long N, long F, long B) {
    long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= N * F) return;
    long f = at % F, b = 0;
    while (b < B && borders[f * B + b] < x[at]) ++b;
    y[at] = (int)b;
}

extern "C" void kernel(const float* x, const float* borders, int* y, long N, long F, long B, cudaStream_t stream) {
    count_below<<<(N * F + 127) / 128, 128, 0, stream>>>(x, borders, y, N, F, B);
}
