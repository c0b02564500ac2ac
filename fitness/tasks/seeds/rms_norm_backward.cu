// Gradients of RMS normalisation: dx (M x N) and dw (N) from dy, x (M x N) and w (N). Until dx is written, the first
// element of each of its rows holds r, the reciprocal of that row's root mean square.
__global__ void reciprocal_of_row(const float* x, float* dx, long M, long N) {
    long row = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (row >= M) return;
    float squares = 0.0f;
    for (long j = 0; j < N; ++j) squares += x[row * N + j] * x[row * N + j];
    dx[row * N] = 1.0f / sqrtf(squares / N + 1e-6f);
}

__global__ void gradient_of_w(const float* dy, const float* x, const float* dx, float* dw, long M, long N) {
    long j = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (j >= N) return;
    float total = 0.0f;
    for (long i = 0; i < M; ++i) total += dy[i * N + j] * x[i * N + j] * dx[i * N];
    dw[j] = total;
}

__global__ void gradient_of_x(const float* dy, const float* x, const float* w, float* dx, long M, long N) {
    long row = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (row >= M) return;
    float r = dx[row * N], c = 0.0f;
    for (long j = 0; j < N; ++j) c += dy[row * N + j] * w[j] * x[row * N + j];
    for (long j = 0; j < N; ++j) {
        dx[row * N + j] = r * (dy[row * N + j] * w[j] - x[row * N + j] * r * r * c / N);
    }
}

extern "C" void kernel(const float* dy, const float* x, const float* w, float* dx, float* dw, long M, long N,
                       cudaStream_t stream) {
    reciprocal_of_row<<<(M + 127) / 128, 128, 0, stream>>>(x, dx, M, N);
    gradient_of_w<<<(N + 31) / 32, 32, 0, stream>>>(dy, x, dx, dw, M, N);
    gradient_of_x<<<(M + 127) / 128, 128, 0, stream>>>(dy, x, w, dx, M, N);
}
