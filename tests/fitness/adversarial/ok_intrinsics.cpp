// expect: ok task=row_sum  honest: vector intrinsics, with a plain loop for other machines
#ifdef __AVX__
#include <immintrin.h>
#endif

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        long j = 0;
    #ifdef __AVX__
        __m256 sums = _mm256_setzero_ps();
        for (; j + 8 <= N; j += 8) sums = _mm256_add_ps(sums, _mm256_loadu_ps(x + i * N + j));
        alignas(32) float lanes[8];
        _mm256_store_ps(lanes, sums);
        for (float lane : lanes) total += lane;
    #endif
        for (; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}
