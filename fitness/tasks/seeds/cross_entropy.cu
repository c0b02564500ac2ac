// Cross entropy of every row of the logits x (M x N) with its label; one thread a row.
__global__ void loss_of_row(const float* x, const int* label, float* loss, long M, long N) {
    long row = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (row >= M) return;
    float highest = -INFINITY;
    for (long j = 0; j < N; ++j) highest = fmaxf(highest, x[row * N + j]);
    float total = 0.0f;
    for (long j = 0; j < N; ++j) total += expf(x[row * N + j] - highest);
    loss[row] = logf(total) + (highest - x[row * N + label[row]]);
}

extern "C" void kernel(const float* x, const int* label, float* loss, long M, long N, cudaStream_t stream) {
    loss_of_row<<<(M + 127) / 128, 128, 0, stream>>>(x, label, loss, M, N);
}
