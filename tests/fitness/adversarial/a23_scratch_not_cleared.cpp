// expect: wrong_value|unrepeatable task=row_sum  adds into malloc'ed memory as if it were zero (A23)
#include <cstdlib>
#include <cstring>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    float* sums = static_cast<float*>(std::malloc(M * sizeof(float)));
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) sums[i] += x[i * N + j];
    std::memcpy(y, sums, M * sizeof(float));
    std::free(sums);
}
