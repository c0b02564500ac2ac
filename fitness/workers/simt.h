// Runs CUDA and HIP C++ on a CPU, for verdicts only: one fiber a thread, one block after another.
//
// Compiled in front of a kernel's source with -include. Covers launches, barriers, static and
// dynamic shared memory, warp shuffles and votes, atomics, vector types, half precision arithmetic
// and the usual intrinsics. Does not cover tensor cores, inline PTX, asynchronous copies, clusters
// and textures: a source that uses them does not build here.
//
// Threads run in an order that changes from launch to launch (forwards, backwards, odd lanes
// first), so that a missing barrier shows as a wrong or changing result. Dynamic shared memory starts
// as NaN in every block. KERNELWRIGHT_WARP is 32 for CUDA and 64 for AMD's CDNA.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#ifndef KERNELWRIGHT_WARP
#define KERNELWRIGHT_WARP 32
#endif

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define warpSize KERNELWRIGHT_WARP

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct uint3 {
    unsigned x, y, z;
};

#define KERNELWRIGHT_VECTOR2(T, name)                    \
    struct alignas(2 * sizeof(T)) name { T x, y; };      \
    inline name make_##name(T x, T y) { return {x, y}; }
#define KERNELWRIGHT_VECTOR3(T, name) \
    struct name { T x, y, z; };       \
    inline name make_##name(T x, T y, T z) { return {x, y, z}; }
#define KERNELWRIGHT_VECTOR4(T, name)                                        \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name { T x, y, z, w; }; \
    inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
KERNELWRIGHT_VECTOR2(float, float2)
KERNELWRIGHT_VECTOR3(float, float3)
KERNELWRIGHT_VECTOR4(float, float4)
KERNELWRIGHT_VECTOR2(double, double2)
KERNELWRIGHT_VECTOR2(int, int2)
KERNELWRIGHT_VECTOR3(int, int3)
KERNELWRIGHT_VECTOR4(int, int4)
KERNELWRIGHT_VECTOR2(unsigned, uint2)
KERNELWRIGHT_VECTOR4(unsigned, uint4)
KERNELWRIGHT_VECTOR4(unsigned char, uchar4)
KERNELWRIGHT_VECTOR2(long long, longlong2)

namespace kernelwright {

// Switching with ucontext costs two system calls; on x86-64 the six registers that a call keeps are enough.
#ifdef __x86_64__
extern "C" void kernelwright_switch(void** from, void* to);
__asm__(
    ".text\n.local kernelwright_switch\n.type kernelwright_switch,@function\nkernelwright_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");

struct Context {
    void* pointer = nullptr;
    void prepare(char* stack, size_t bytes, void (*entry)()) {
        void** top = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15));
        *--top = nullptr;  // where entry would return to; it also aligns the stack as after a call
        *--top = reinterpret_cast<void*>(entry);
        for (int i = 0; i < 6; ++i) *--top = nullptr;
        pointer = top;
    }
    void enter(Context& to) { kernelwright_switch(&pointer, to.pointer); }
};
#else
struct Context {
    ucontext_t context;
    void prepare(char* stack, size_t bytes, void (*entry)()) {
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = bytes;
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }
    void enter(Context& to) { swapcontext(&context, &to.context); }
};
#endif

struct Fiber {
    Context context;
    std::unique_ptr<char[]> stack;
    uint3 thread;
    bool done;
    unsigned shuffles;  // warp exchanges that this lane has entered
};

struct Exchange {
    std::vector<unsigned char> slots;  // two generations of one 16-byte slot a lane
    unsigned arrived[2];
    unsigned generation;
};

struct Block {
    std::vector<Fiber> fibers;
    std::vector<Exchange> warps;
    Context scheduler;
    unsigned threads, current, waiting, barrier, running;
    uint3 index;
    dim3 size, grid;
    std::vector<unsigned char> dynamic;
    std::function<void()> body;
};

constexpr size_t stack_bytes = 64 * 1024;
inline Block block;
inline unsigned launches = 0;

inline Fiber& self() { return block.fibers[block.current]; }

inline void yield() {
    self().context.enter(block.scheduler);
}

inline void enter() {
    block.body();
    Fiber& fiber = self();
    fiber.done = true;
    --block.running;
    fiber.context.enter(block.scheduler);
}

// Waits until every thread that has not returned is here.
inline void barrier() {
    const unsigned phase = block.barrier;
    ++block.waiting;
    while (phase == block.barrier) {
        if (block.waiting >= block.running) {
            block.waiting = 0;
            ++block.barrier;
            return;
        }
        yield();
    }
}

inline unsigned lane() { return block.current % KERNELWRIGHT_WARP; }

inline unsigned live_lanes() {
    const unsigned first = block.current / KERNELWRIGHT_WARP * KERNELWRIGHT_WARP;
    unsigned count = 0;
    for (unsigned i = first; i < std::min(first + KERNELWRIGHT_WARP, block.threads); ++i) count += !block.fibers[i].done;
    return count;
}

inline bool lane_is_live(unsigned lane) {
    const unsigned index = block.current / KERNELWRIGHT_WARP * KERNELWRIGHT_WARP + lane;
    return index < block.threads && !block.fibers[index].done;
}

// Every lane of the mask gives a value and reads one of another lane. Lanes that have returned do
// not take part; the two generations keep a fast lane from overwriting what a slow one still reads.
template <class T, class Read>
auto exchange(unsigned long long mask, T value, Read read) {
    static_assert(sizeof(T) <= 16, "at most 16 bytes are exchanged");
    Exchange& warp = block.warps[block.current / KERNELWRIGHT_WARP];
    const unsigned generation = self().shuffles++;
    const unsigned side = generation % 2;
    unsigned char* slots = warp.slots.data() + side * KERNELWRIGHT_WARP * 16;
    std::memcpy(slots + lane() * 16, &value, sizeof(T));
    ++warp.arrived[side];
    auto expected = [&] {
        unsigned count = 0;
        for (unsigned i = 0; i < KERNELWRIGHT_WARP; ++i) count += (mask >> i & 1) && lane_is_live(i);
        return count;
    };
    while (warp.generation == generation) {
        if (warp.arrived[side] >= expected()) {
            warp.arrived[side] = 0;
            ++warp.generation;
            break;
        }
        yield();
    }
    return read([&](unsigned from) {
        T other;
        std::memcpy(&other, slots + from % KERNELWRIGHT_WARP * 16, sizeof(T));
        return other;
    });
}

// Runs one block to its end. A round without progress is a deadlock: threads wait at a barrier
// that the others cannot reach.
inline void run_block() {
    block.waiting = block.barrier = 0;
    block.running = block.threads;
    for (auto& warp : block.warps) warp.arrived[0] = warp.arrived[1] = warp.generation = 0;
    for (unsigned i = 0; i < block.threads; ++i) {
        Fiber& fiber = block.fibers[i];
        fiber.done = false;
        fiber.shuffles = 0;
        fiber.thread = {i % block.size.x, i / block.size.x % block.size.y, i / (block.size.x * block.size.y)};
        fiber.context.prepare(fiber.stack.get(), stack_bytes, enter);
    }
    while (block.running) {
        for (unsigned i = 0; i < block.threads; ++i) {
            unsigned at = i;
            if (launches % 3 == 1) at = block.threads - 1 - i;
            if (launches % 3 == 2) at = i < (block.threads + 1) / 2 ? 2 * i : 2 * (i - (block.threads + 1) / 2) + 1;
            if (block.fibers[at].done) continue;
            block.current = at;
            block.scheduler.enter(block.fibers[at].context);
        }
    }
}

inline void prepare(dim3 grid, dim3 size, size_t dynamic_bytes) {
    block.grid = grid;
    block.size = size;
    block.threads = size.x * size.y * size.z;
    if (block.threads == 0 || block.threads > 1024) {
        std::fprintf(stderr, "a block of %u threads cannot be launched\n", block.threads);
        std::abort();
    }
    block.dynamic.assign(dynamic_bytes + 16, 0xff);
    while (block.fibers.size() < block.threads) {
        block.fibers.emplace_back();
        block.fibers.back().stack = std::make_unique<char[]>(stack_bytes);
    }
    block.warps.resize((block.threads + KERNELWRIGHT_WARP - 1) / KERNELWRIGHT_WARP);
    for (auto& warp : block.warps) warp.slots.resize(2 * KERNELWRIGHT_WARP * 16);
}

template <class Function, class... Arguments>
void launch(Function function, dim3 grid, dim3 size, size_t dynamic_bytes, const void*, Arguments... arguments) {
    prepare(grid, size, dynamic_bytes);
    block.body = [=] { function(arguments...); };
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                block.index = {x, y, z};
                std::fill(block.dynamic.begin(), block.dynamic.end(), 0xff);
                run_block();
            }
    ++launches;
}

// What stands between <<< and >>>: grid, block, and optionally shared memory and stream.
struct Configuration {
    dim3 grid, size;
    size_t dynamic_bytes;
    const void* stream;
    Configuration(dim3 grid, dim3 size, size_t dynamic_bytes = 0, const void* stream = nullptr)
        : grid(grid), size(size), dynamic_bytes(dynamic_bytes), stream(stream) {}
};

template <class Function>
struct Launcher {
    Function function;
    Configuration configuration;
    template <class... Arguments>
    void operator()(Arguments... arguments) const {
        launch(function, configuration.grid, configuration.size, configuration.dynamic_bytes, configuration.stream,
               arguments...);
    }
};

template <class Function>
Launcher<Function> launcher(Function function, Configuration configuration) {
    return {function, configuration};
}

}  // namespace kernelwright

#define KERNELWRIGHT_DYNAMIC_SHARED(T, name) T* name = reinterpret_cast<T*>(kernelwright::block.dynamic.data())
#define HIP_DYNAMIC_SHARED(T, name) KERNELWRIGHT_DYNAMIC_SHARED(T, name)

#define threadIdx (kernelwright::self().thread)
#define blockIdx (kernelwright::block.index)
#define blockDim (kernelwright::block.size)
#define gridDim (kernelwright::block.grid)

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

// One thread runs at a time, so plain memory operations are atomic.
#define KERNELWRIGHT_ATOMIC(name, expression)      \
    template <class T, class U>                    \
    T name(T* at, U given) {                       \
        const T old = *at, value = T(given);       \
        *at = (expression);                        \
        return old;                                \
    }
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
template <class T> T __ldcs(const T* at) { return *at; }
template <class T> T __ldca(const T* at) { return *at; }
template <class T> void __stcs(T* at, T value) { *at = value; }
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
inline __half __hfma(__half x, __half y, __half z) { return __half(std::fma(float(x), float(y), float(z))); }

typedef const void* cudaStream_t;
typedef const void* hipStream_t;
typedef int cudaError_t;
typedef int hipError_t;
constexpr int cudaSuccess = 0, hipSuccess = 0;
// What launchers call of the runtimes, for a device of one multiprocessor whose memory is the host's.
#define KERNELWRIGHT_RUNTIME(vendor)                                                                                        \
    inline int vendor##GetLastError() { return 0; }                                                                        \
    inline int vendor##PeekAtLastError() { return 0; }                                                                     \
    inline const char* vendor##GetErrorString(int) { return "no error"; }                                                 \
    inline int vendor##MemsetAsync(void* at, int value, size_t bytes, vendor##Stream_t = nullptr) { std::memset(at, value, bytes); return 0; } \
    inline int vendor##Memset(void* at, int value, size_t bytes) { std::memset(at, value, bytes); return 0; }             \
    inline int vendor##MemcpyAsync(void* to, const void* from, size_t bytes, int, vendor##Stream_t = nullptr) { std::memcpy(to, from, bytes); return 0; } \
    template <class T> int vendor##Malloc(T** at, size_t bytes) { *at = static_cast<T*>(std::malloc(bytes)); return 0; }  \
    template <class T> int vendor##MallocAsync(T** at, size_t bytes, vendor##Stream_t) { return vendor##Malloc(at, bytes); } \
    inline int vendor##Free(void* at) { std::free(at); return 0; }                                                        \
    inline int vendor##FreeAsync(void* at, vendor##Stream_t) { std::free(at); return 0; }                                 \
    inline int vendor##StreamSynchronize(vendor##Stream_t) { return 0; }                                                  \
    inline int vendor##DeviceSynchronize() { return 0; }                                                                  \
    inline int vendor##GetDevice(int* device) { *device = 0; return 0; }                                                  \
    inline int vendor##FuncSetAttribute(...) { return 0; }
KERNELWRIGHT_RUNTIME(cuda)
KERNELWRIGHT_RUNTIME(hip)
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault };
enum { cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrMultiProcessorCount = 16 };
inline int cudaDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == cudaDevAttrMultiProcessorCount ? 1 : attribute == cudaDevAttrMaxSharedMemoryPerBlock ? 48 * 1024 : 0;
    return 0;
}
#define cudaFuncAttributeMaxDynamicSharedMemorySize 8
#define hipLaunchKernelGGL(function, grid, size, dynamic_bytes, stream, ...) \
    kernelwright::launch(function, grid, size, dynamic_bytes, stream, __VA_ARGS__)
