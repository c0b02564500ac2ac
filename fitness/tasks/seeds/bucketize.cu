// y[i] = number of borders (B of them, ascending) below x[i]; one thread a value.
__global__ void count_below(const float* x, const float* borders, int* y, long N, long B) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= N) return;
    long b = 0;
    while (b < B && borders[b] < x[i]) ++b;
    y[i] = (int)b;
}

extern "C" void kernel(const float* x, const float* borders, int* y, long N, long B, cudaStream_t stream) {
    count_below<<<(N + 127) / 128, 128, 0, stream>>>(x, borders, y, N, B);
}
