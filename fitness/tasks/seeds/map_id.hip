// y[i] = -1 where x[i] is 0, else the id of its bucket among B ascending borders; one thread a value.
__global__ void map_value(const float* x, const float* borders, const int* ids, int* y, long N, long B) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= N) return;
    long b = 0;
    while (b < B - 1 && borders[b] < x[i]) ++b;
    y[i] = x[i] == 0.0f ? -1 : ids[b];
}

extern "C" void kernel(const float* x, const float* borders, const int* ids, int* y, long N, long B,
                       hipStream_t stream) {
    map_value<<<(N + 127) / 128, 128, 0, stream>>>(x, borders, ids, y, N, B);
}
