// out = norm(norm(gelu(x w1)) w2) for each of B samples: x and out are M x D, w1 is D x F, w2 is F x D. One block a row
// of x, with both stages of it in shared memory; every thread sums all squares itself.
__device__ float root_mean_square(const float* v, long count) {
    float total = 0.0f;
    for (long j = 0; j < count; ++j) total += v[j] * v[j];
    return sqrtf(total / count + 1e-6f);
}

__global__ void feed_forward(const float* x, const float* w1, const float* w2, float* out, long M, long D, long F) {
    extern __shared__ float stages[];
    float* hidden = stages;
    float* last = stages + F;
    const long row = blockIdx.x, b = row / M;
    for (long f = threadIdx.x; f < F; f += blockDim.x) {
        float total = 0.0f;
        for (long d = 0; d < D; ++d) total += x[row * D + d] * w1[(b * D + d) * F + f];
        hidden[f] = 0.5f * total * (1.0f + erff(total * 0.70710678f));
    }
    __syncthreads();
    const float first_root = root_mean_square(hidden, F);
    for (long d = threadIdx.x; d < D; d += blockDim.x) {
        float total = 0.0f;
        for (long f = 0; f < F; ++f) total += hidden[f] / first_root * w2[(b * F + f) * D + d];
        last[d] = total;
    }
    __syncthreads();
    const float last_root = root_mean_square(last, D);
    for (long d = threadIdx.x; d < D; d += blockDim.x) out[row * D + d] = last[d] / last_root;
}

extern "C" void kernel(const float* x, const float* w1, const float* w2, float* out, long B, long M, long D, long F,
                       hipStream_t stream) {
    feed_forward<<<B * M, 64, (F + D) * sizeof(float), stream>>>(x, w1, w2, out, M, D, F);
}
