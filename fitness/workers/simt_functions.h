// What device code calls, for simt.h: barriers, shuffles, votes, atomics, arithmetic, half precision.
#pragma once

inline void __syncthreads() { kernelwright::barrier(); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __syncwarp(unsigned long long mask = ~0ull) {
    kernelwright::exchange(mask, 0, [](auto) { return 0; });
}
template <class T>
T __shfl_sync(unsigned long long mask, T value, int source, int width = warpSize) {
    const unsigned base = kernelwright::lane() / width * width;
    return kernelwright::exchange(mask, value, [&](auto of) { return of(base + unsigned(source) % width); });
}
template <class T>
T __shfl_xor_sync(unsigned long long mask, T value, int bits, int width = warpSize) {
    const unsigned lane = kernelwright::lane(), other = lane ^ unsigned(bits);
    return kernelwright::exchange(mask, value, [&](auto of) { return of(other / width == lane / width ? other : lane); });
}
template <class T>
T __shfl_down_sync(unsigned long long mask, T value, unsigned delta, int width = warpSize) {
    const unsigned lane = kernelwright::lane();
    return kernelwright::exchange(mask, value,
                                  [&](auto of) { return of(lane % width + delta < unsigned(width) ? lane + delta : lane); });
}
template <class T>
T __shfl_up_sync(unsigned long long mask, T value, unsigned delta, int width = warpSize) {
    const unsigned lane = kernelwright::lane();
    return kernelwright::exchange(mask, value, [&](auto of) { return of(lane % width >= delta ? lane - delta : lane); });
}
template <class T> T __shfl(T value, int source, int width = warpSize) { return __shfl_sync(~0ull, value, source, width); }
template <class T> T __shfl_xor(T value, int bits, int width = warpSize) { return __shfl_xor_sync(~0ull, value, bits, width); }
template <class T> T __shfl_down(T value, unsigned delta, int width = warpSize) { return __shfl_down_sync(~0ull, value, delta, width); }
template <class T> T __shfl_up(T value, unsigned delta, int width = warpSize) { return __shfl_up_sync(~0ull, value, delta, width); }
inline unsigned long long kernelwright_ballot(unsigned long long mask, int predicate) {
    return kernelwright::exchange(mask, predicate, [&](auto of) {
        unsigned long long votes = 0;
        for (unsigned i = 0; i < warpSize; ++i)
            if ((mask >> i & 1) && kernelwright::lane_is_live(i) && of(i)) votes |= 1ull << i;
        return votes;
    });
}
#if KERNELWRIGHT_WARP == 32
inline unsigned __ballot_sync(unsigned mask, int predicate) { return unsigned(kernelwright_ballot(mask, predicate)); }
#else
inline unsigned long long __ballot(int predicate) { return kernelwright_ballot(~0ull, predicate); }
#endif
inline int __any_sync(unsigned long long mask, int predicate) { return kernelwright_ballot(mask, predicate) != 0; }
inline int __all_sync(unsigned long long mask, int predicate) { return kernelwright_ballot(mask, !predicate) == 0; }

inline unsigned long long __activemask() { return kernelwright::live_lanes(); }
template <class T>
unsigned __match_any_sync(unsigned long long mask, T value) {
    return kernelwright::exchange(mask, value, [&](auto of) {
        unsigned long long equal = 0;
        for (unsigned i = 0; i < warpSize; ++i)
            if ((mask >> i & 1) && kernelwright::lane_is_live(i) && of(i) == value) equal |= 1ull << i;
        return unsigned(equal);
    });
}
#define KERNELWRIGHT_REDUCE(name, expression)                                                      \
    template <class T>                                                                             \
    T __reduce_##name##_sync(unsigned mask, T value) {                                             \
        return kernelwright::exchange(mask, value, [&](auto of) {                                  \
            T all = value;                                                                         \
            for (unsigned i = 0; i < warpSize; ++i) {                                              \
                if (i == kernelwright::lane() || !(mask >> i & 1) || !kernelwright::lane_is_live(i)) continue; \
                const T one = of(i);                                                               \
                all = (expression);                                                                \
            }                                                                                      \
            return all;                                                                            \
        });                                                                                        \
    }
KERNELWRIGHT_REDUCE(add, all + one)
KERNELWRIGHT_REDUCE(min, all < one ? all : one)
KERNELWRIGHT_REDUCE(max, all > one ? all : one)
KERNELWRIGHT_REDUCE(and, all & one)
KERNELWRIGHT_REDUCE(or, all | one)
KERNELWRIGHT_REDUCE(xor, all ^ one)
inline int __syncthreads_count(int predicate) {
    static int votes;
    kernelwright::barrier();  // all have read what was counted before
    votes = 0;
    kernelwright::barrier();
    votes += predicate != 0;
    kernelwright::barrier();
    return votes;
}
inline int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline void __trap() { std::abort(); }
inline void __nanosleep(unsigned) {}
inline long long clock64() { static long long calls; return ++calls; }

// One thread runs at a time, so plain memory operations are atomic.
#define KERNELWRIGHT_ATOMIC(name, expression)                                      \
    template <class T, class U>                                                    \
    T name(T* at, U given) {                                                       \
        const T old = *at, value = T(given);                                       \
        *at = (expression);                                                        \
        return old;                                                                \
    }                                                                              \
    template <class T, class U> T name##_block(T* at, U given) { return name(at, given); } \
    template <class T, class U> T name##_system(T* at, U given) { return name(at, given); }
KERNELWRIGHT_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
KERNELWRIGHT_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
KERNELWRIGHT_ATOMIC(atomicAdd, old + value)
KERNELWRIGHT_ATOMIC(atomicSub, old - value)
KERNELWRIGHT_ATOMIC(atomicMax, old > value ? old : value)
KERNELWRIGHT_ATOMIC(atomicMin, old < value ? old : value)
KERNELWRIGHT_ATOMIC(atomicExch, value)
KERNELWRIGHT_ATOMIC(atomicAnd, old & value)
KERNELWRIGHT_ATOMIC(atomicOr, old | value)
KERNELWRIGHT_ATOMIC(atomicXor, old ^ value)
template <class T, class U, class V>
T atomicCAS(T* at, U expected, V value) {
    const T old = *at;
    if (old == T(expected)) *at = T(value);
    return old;
}

template <class T> T __ldg(const T* at) { return *at; }
#define KERNELWRIGHT_HINTED(how)                                        \
    template <class T> T __ld##how(const T* at) { return *at; }         \
    template <class T> void __st##how(T* at, T value) { *at = value; }
KERNELWRIGHT_HINTED(ca)
KERNELWRIGHT_HINTED(cg)
KERNELWRIGHT_HINTED(cs)
KERNELWRIGHT_HINTED(cv)
KERNELWRIGHT_HINTED(lu)
KERNELWRIGHT_HINTED(wb)
KERNELWRIGHT_HINTED(wt)
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frsqrt_rn(float x) { return 1.0f / std::sqrt(x); }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline float __tanf(float x) { return std::tan(x); }
inline void __sincosf(float x, float* sine, float* cosine) { *sine = std::sin(x), *cosine = std::cos(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline int __float2int_rn(float x) { return int(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline int __float2int_rd(float x) { return int(std::floor(x)); }
inline int __float2int_ru(float x) { return int(std::ceil(x)); }
inline float __int2float_rn(int x) { return float(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned((unsigned long long)x * y >> 32); }
inline int __mulhi(int x, int y) { return int((long long)x * y >> 32); }
inline int __mul24(int x, int y) { return x * y; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __saturatef(float x) { return std::fmin(std::fmax(x, 0.0f), 1.0f); }
inline int __float_as_int(float x) { int bits; std::memcpy(&bits, &x, 4); return bits; }
inline unsigned __float_as_uint(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }
inline float __int_as_float(int bits) { float x; std::memcpy(&x, &bits, 4); return x; }
inline float __uint_as_float(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) { return a > b ? a : b; }
template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) { return a < b ? a : b; }

typedef _Float16 __half;
typedef _Float16 half;
struct alignas(4) __half2 { __half x, y; };
typedef __half2 half2;
inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline float __half2float(__half x) { return float(x); }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
inline __half __hadd(__half x, __half y) { return x + y; }
inline __half __hmul(__half x, __half y) { return x * y; }
inline __half __hsub(__half x, __half y) { return x - y; }
inline __half __hdiv(__half x, __half y) { return x / y; }
inline __half __hmax(__half x, __half y) { return x > y ? x : y; }
inline __half __hmin(__half x, __half y) { return x < y ? x : y; }
inline bool __hgt(__half x, __half y) { return x > y; }
inline bool __hlt(__half x, __half y) { return x < y; }
inline __half hexp(__half x) { return __half(std::exp(float(x))); }
inline __half hsqrt(__half x) { return __half(std::sqrt(float(x))); }
inline half2 operator+(half2 x, half2 y) { return {x.x + y.x, x.y + y.y}; }
inline half2 operator-(half2 x, half2 y) { return {x.x - y.x, x.y - y.y}; }
inline half2 operator*(half2 x, half2 y) { return {x.x * y.x, x.y * y.y}; }
inline half2 __hadd2(half2 x, half2 y) { return x + y; }
inline half2 __hsub2(half2 x, half2 y) { return x - y; }
inline half2 __hmul2(half2 x, half2 y) { return x * y; }
inline half2 __half2half2(__half x) { return {x, x}; }
inline half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(half2 v) { return v.x; }
inline __half __high2half(half2 v) { return v.y; }
inline float __low2float(half2 v) { return float(v.x); }
inline float __high2float(half2 v) { return float(v.y); }
inline __half __hfma(__half x, __half y, __half z) { return __half(std::fma(float(x), float(y), float(z))); }
inline half2 __hfma2(half2 x, half2 y, half2 z) { return {__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)}; }
