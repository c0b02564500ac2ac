// c = a b for a (M x K) and b (K x N), one element of c a work-item.
#pragma launch matmul global((N + 15) / 16 * 16, (M + 15) / 16 * 16) local(16, 16)

__kernel void matmul(__global const float* a, __global const float* b, __global float* c, long M, long N, long K) {
    long i = get_global_id(1);
    long j = get_global_id(0);
    if (i < M && j < N) {
        float total = 0.0f;
        for (long k = 0; k < K; k++) {
            total += a[i * K + k] * b[k * N + j];
        }
        c[i * N + j] = total;
    }
}
