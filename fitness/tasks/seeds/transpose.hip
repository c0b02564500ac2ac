// y (N x M) = transpose of x (M x N), one thread an element.
__global__ void move(const float* x, float* y, long M, long N) {
    long j = blockIdx.x * (long)blockDim.x + threadIdx.x;
    long i = blockIdx.y * (long)blockDim.y + threadIdx.y;
    if (i < M && j < N) y[j * M + i] = x[i * N + j];
}

extern "C" void kernel(const float* x, float* y, long M, long N, hipStream_t stream) {
    move<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(x, y, M, N);
}
