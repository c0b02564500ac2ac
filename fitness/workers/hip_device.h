// What HIP device code needs, over clang's own builtins: compiles for AMD GPUs without ROCm installed.
//
// Covers indices, barriers, shared memory, shuffles, atomics, vector types, half precision and the
// usual mathematics. With a ROCm installation hipcc and its headers are used instead.
#pragma once
typedef unsigned int uint;
typedef __SIZE_TYPE__ size_t;
typedef const void* hipStream_t;
typedef int hipError_t;
typedef _Float16 __half;
typedef _Float16 half;
constexpr int hipSuccess = 0;

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define KERNELWRIGHT_FUNCTION static inline __device__ __host__
#define warpSize 64
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define INT_MAX __INT_MAX__

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#define KERNELWRIGHT_VECTOR2(T, name)                                  \
    struct alignas(2 * sizeof(T)) name { T x, y; };                    \
    KERNELWRIGHT_FUNCTION name make_##name(T x, T y) { return {x, y}; }
#define KERNELWRIGHT_VECTOR4(T, name)                                  \
    struct alignas(4 * sizeof(T)) name { T x, y, z, w; };              \
    KERNELWRIGHT_FUNCTION name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
KERNELWRIGHT_VECTOR2(float, float2)
KERNELWRIGHT_VECTOR4(float, float4)
KERNELWRIGHT_VECTOR2(int, int2)
KERNELWRIGHT_VECTOR4(int, int4)
KERNELWRIGHT_VECTOR2(unsigned, uint2)
KERNELWRIGHT_VECTOR4(unsigned, uint4)

// Indices are read where they are used, as the compiler expects of them.
struct KernelwrightThread {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    __declspec(property(get = get_z)) unsigned z;
    __device__ unsigned get_x() const { return __builtin_amdgcn_workitem_id_x(); }
    __device__ unsigned get_y() const { return __builtin_amdgcn_workitem_id_y(); }
    __device__ unsigned get_z() const { return __builtin_amdgcn_workitem_id_z(); }
};
struct KernelwrightBlock {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    __declspec(property(get = get_z)) unsigned z;
    __device__ unsigned get_x() const { return __builtin_amdgcn_workgroup_id_x(); }
    __device__ unsigned get_y() const { return __builtin_amdgcn_workgroup_id_y(); }
    __device__ unsigned get_z() const { return __builtin_amdgcn_workgroup_id_z(); }
};
struct KernelwrightBlockSize {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    __declspec(property(get = get_z)) unsigned z;
    __device__ unsigned get_x() const { return __builtin_amdgcn_workgroup_size_x(); }
    __device__ unsigned get_y() const { return __builtin_amdgcn_workgroup_size_y(); }
    __device__ unsigned get_z() const { return __builtin_amdgcn_workgroup_size_z(); }
};
struct KernelwrightGrid {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    __declspec(property(get = get_z)) unsigned z;
    __device__ unsigned get_x() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
    __device__ unsigned get_y() const { return __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(); }
    __device__ unsigned get_z() const { return __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z(); }
};
extern const __device__ __attribute__((weak)) KernelwrightThread threadIdx;
extern const __device__ __attribute__((weak)) KernelwrightBlock blockIdx;
extern const __device__ __attribute__((weak)) KernelwrightBlockSize blockDim;
extern const __device__ __attribute__((weak)) KernelwrightGrid gridDim;

static inline __device__ void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static inline __device__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
static inline __device__ int kernelwright_lane() {
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
static inline __device__ int kernelwright_move(int value, int from) { return __builtin_amdgcn_ds_bpermute(from << 2, value); }
static inline __device__ float kernelwright_move(float value, int from) {
    return __builtin_bit_cast(float, kernelwright_move(__builtin_bit_cast(int, value), from));
}
static inline __device__ unsigned kernelwright_move(unsigned value, int from) {
    return __builtin_bit_cast(unsigned, kernelwright_move(__builtin_bit_cast(int, value), from));
}
template <class T> static inline __device__ T __shfl(T value, int source, int width = warpSize) {
    return kernelwright_move(value, (kernelwright_lane() & ~(width - 1)) + (source & (width - 1)));
}
template <class T> static inline __device__ T __shfl_xor(T value, int bits, int width = warpSize) {
    const int lane = kernelwright_lane(), other = lane ^ bits;
    return kernelwright_move(value, other / width == lane / width ? other : lane);
}
template <class T> static inline __device__ T __shfl_down(T value, unsigned delta, int width = warpSize) {
    const int lane = kernelwright_lane();
    return kernelwright_move(value, lane % width + (int)delta < width ? lane + (int)delta : lane);
}
template <class T> static inline __device__ T __shfl_up(T value, unsigned delta, int width = warpSize) {
    const int lane = kernelwright_lane();
    return kernelwright_move(value, lane % width >= (int)delta ? lane - (int)delta : lane);
}
static inline __device__ unsigned long long __ballot(int predicate) { return __builtin_amdgcn_ballot_w64(predicate != 0); }

template <class T> static inline __device__ T atomicAdd(T* at, T value) {
    return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> static inline __device__ T atomicMax(T* at, T value) {
    return __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> static inline __device__ T atomicMin(T* at, T value) {
    return __hip_atomic_fetch_min(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNELWRIGHT_FUNCTION float expf(float x) { return __builtin_elementwise_exp(x); }
KERNELWRIGHT_FUNCTION float exp2f(float x) { return __builtin_elementwise_exp2(x); }
KERNELWRIGHT_FUNCTION float logf(float x) { return __builtin_elementwise_log(x); }
KERNELWRIGHT_FUNCTION float log2f(float x) { return __builtin_elementwise_log2(x); }
KERNELWRIGHT_FUNCTION float __expf(float x) { return __builtin_elementwise_exp2(x * 1.4426950408889634f); }
KERNELWRIGHT_FUNCTION float sqrtf(float x) { return __builtin_elementwise_sqrt(x); }
KERNELWRIGHT_FUNCTION float rsqrtf(float x) { return 1.0f / __builtin_elementwise_sqrt(x); }
KERNELWRIGHT_FUNCTION float fabsf(float x) { return __builtin_elementwise_abs(x); }
KERNELWRIGHT_FUNCTION float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
KERNELWRIGHT_FUNCTION float fminf(float x, float y) { return __builtin_fminf(x, y); }
KERNELWRIGHT_FUNCTION float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KERNELWRIGHT_FUNCTION float floorf(float x) { return __builtin_elementwise_floor(x); }
KERNELWRIGHT_FUNCTION float ceilf(float x) { return __builtin_elementwise_ceil(x); }
KERNELWRIGHT_FUNCTION float sinf(float x) { return __builtin_elementwise_sin(x); }
KERNELWRIGHT_FUNCTION float cosf(float x) { return __builtin_elementwise_cos(x); }
// tanh(x) = 1 - 2 / (exp(2x) + 1); exact at both ends, within a few ulp of 1 between them.
KERNELWRIGHT_FUNCTION float tanhf(float x) { return 1.0f - 2.0f / (expf(2.0f * x) + 1.0f); }
// The complement of erf for a >= 0: Abramowitz and Stegun 7.1.26, with an absolute error of 1.5e-7, one ulp of 1.
KERNELWRIGHT_FUNCTION float kernelwright_erfc(float a) {
    const float t = 1.0f / (1.0f + 0.3275911f * a);
    const float p = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    return p * expf(-a * a);
}
KERNELWRIGHT_FUNCTION float erff(float x) { return __builtin_copysignf(1.0f - kernelwright_erfc(fabsf(x)), x); }
KERNELWRIGHT_FUNCTION float erfcf(float x) {
    const float tail = kernelwright_erfc(fabsf(x));
    return x < 0.0f ? 2.0f - tail : tail;
}
KERNELWRIGHT_FUNCTION float __half2float(__half x) { return (float)x; }
KERNELWRIGHT_FUNCTION __half __float2half(float x) { return (__half)x; }
template <class T> KERNELWRIGHT_FUNCTION T max(T a, T b) { return a > b ? a : b; }
template <class T> KERNELWRIGHT_FUNCTION T min(T a, T b) { return a < b ? a : b; }
template <class T> static inline __device__ T __ldg(const T* at) { return *at; }

#define KERNELWRIGHT_DYNAMIC_SHARED(T, name)                                        \
    extern __shared__ __attribute__((address_space(3))) char kernelwright_dynamic[]; \
    T* name = (T*)kernelwright_dynamic
namespace kernelwright {
struct Configuration {
    template <class... T> __host__ Configuration(T...) {}
};
struct Launcher {
    template <class... T> __host__ void operator()(T...) const {}
};
template <class F> __host__ inline Launcher launcher(F, Configuration) { return {}; }
}  // namespace kernelwright
