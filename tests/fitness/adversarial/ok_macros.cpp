// expect: ok task=matmul  honest: loops written as macros
#define EACH(name, end) for (long name = 0; name < (end); ++name)

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    EACH(i, M) EACH(j, N) c[i * N + j] = 0.0f;
    EACH(i, M) EACH(k, K) EACH(j, N) c[i * N + j] += a[i * K + k] * b[k * N + j];
}
