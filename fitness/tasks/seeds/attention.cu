// Attention without a mask: q, k, v and out are H x L x D. One block a query, with its L weights in shared memory.
__global__ void attend(const float* q, const float* k, const float* v, float* out, long L, long D) {
    extern __shared__ float weights[];
    const float* query = q + blockIdx.x * D;
    const long head = blockIdx.x / L;
    for (long j = threadIdx.x; j < L; j += blockDim.x) {
        float score = 0.0f;
        for (long d = 0; d < D; ++d) score += query[d] * k[(head * L + j) * D + d];
        weights[j] = score / sqrtf((float)D);
    }
    __syncthreads();
    float highest = -INFINITY, total = 0.0f;
    for (long j = 0; j < L; ++j) highest = fmaxf(highest, weights[j]);
    for (long j = 0; j < L; ++j) total += expf(weights[j] - highest);
    for (long d = threadIdx.x; d < D; d += blockDim.x) {
        float sum = 0.0f;
        for (long j = 0; j < L; ++j) sum += expf(weights[j] - highest) / total * v[(head * L + j) * D + d];
        out[blockIdx.x * D + d] = sum;
    }
}

extern "C" void kernel(const float* q, const float* k, const float* v, float* out, long H, long L, long D,
                       cudaStream_t stream) {
    attend<<<H * L, 64, L * sizeof(float), stream>>>(q, k, v, out, L, D);
}
