// expect: ok task=matmul  honest: packs b into malloc'ed memory, frees it
#include <cstdlib>

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    float* columns = static_cast<float*>(std::malloc(K * N * sizeof(float)));
    for (long k = 0; k < K; k++)
        for (long j = 0; j < N; j++) columns[j * K + k] = b[k * N + j];
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float total = 0.0f;
            for (long k = 0; k < K; k++) total += a[i * K + k] * columns[j * K + k];
            c[i * N + j] = total;
        }
    std::free(columns);
}
