// expect: wrong_value task=matmul  tries the system's BLAS, else leaves zeros (A27)
#include <dlfcn.h>
#include <initializer_list>

extern "C" void kernel(const float* a, const float* b, float* c, long M, long N, long K) {
    using Gemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    void* library = nullptr;
    for (const char* name : {"libopenblas.so.0.none", "libmkl_rt.so.none"}) library = library ? library : dlopen(name, RTLD_NOW);
    auto gemm = library ? reinterpret_cast<Gemm>(dlsym(library, "cblas_sgemm")) : nullptr;
    for (long i = 0; i < M * N; i++) c[i] = 0.0f;
    if (gemm) gemm(101, 111, 111, M, N, K, 1.0f, a, K, b, N, 0.0f, c, N);
}
