// Runs CUDA and HIP C++ on a CPU, for verdicts only: one fiber a thread, one block after another.
//
// Compiled in front of a kernel's source with -include. Covers launches, barriers, static and
// dynamic shared memory, warp shuffles and votes, atomics, vector types, half precision arithmetic,
// cooperative groups of a block and the usual intrinsics. Does not cover tensor cores, inline PTX, asynchronous copies, clusters
// and textures: a source that uses them does not build here.
//
// Threads run in an order that changes from launch to launch (forwards, backwards, odd lanes
// first), so that a missing barrier shows as a wrong or changing result. Dynamic shared memory starts
// as NaN in every block, and nothing may be written behind it. Threads that wait for others that never
// come end the process. KERNELWRIGHT_WARP is 32 for CUDA and 64 for AMD's CDNA.
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
#include <map>
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
#if KERNELWRIGHT_WARP == 32
#define __CUDACC__
#else
#define __HIPCC__
#endif

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
KERNELWRIGHT_VECTOR2(char, char2)
KERNELWRIGHT_VECTOR4(signed char, char4)
KERNELWRIGHT_VECTOR2(unsigned char, uchar2)
KERNELWRIGHT_VECTOR4(unsigned char, uchar4)
KERNELWRIGHT_VECTOR2(short, short2)
KERNELWRIGHT_VECTOR4(short, short4)
KERNELWRIGHT_VECTOR2(unsigned short, ushort2)
KERNELWRIGHT_VECTOR4(unsigned short, ushort4)
KERNELWRIGHT_VECTOR2(long long, longlong2)
KERNELWRIGHT_VECTOR2(unsigned long long, ulonglong2)
KERNELWRIGHT_VECTOR4(double, double4)

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
};

struct Exchange {  // of the lanes of one mask: disjoint parts of a warp exchange independently
    std::vector<unsigned char> slots = std::vector<unsigned char>(2 * KERNELWRIGHT_WARP * 16);  // two generations
    unsigned arrived[2] = {0, 0};
    unsigned generation = 0;
};

struct Block {
    std::vector<Fiber> fibers;
    std::vector<std::map<unsigned long long, Exchange>> warps;  // by mask
    Context scheduler;
    unsigned threads, current, waiting, barrier, running;
    unsigned long long progress;  // threads that came to a barrier or an exchange, left one, or ended
    uint3 index;
    dim3 size, grid;
    std::vector<unsigned char> dynamic;
    std::function<void()> body;
};

constexpr size_t stack_bytes = 64 * 1024;
constexpr size_t guard_bytes = 4096;  // behind dynamic shared memory
constexpr size_t most_shared_bytes = KERNELWRIGHT_WARP == 32 ? 227 * 1024 : 160 * 1024;  // of an H100's block, a gfx950's
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
    ++block.progress;
    fiber.context.enter(block.scheduler);
}

// Waits until every thread that has not returned is here.
inline void barrier() {
    const unsigned phase = block.barrier;
    ++block.waiting;
    ++block.progress;
    while (phase == block.barrier) {
        if (block.waiting >= block.running) {
            block.waiting = 0;
            ++block.barrier;
            return;
        }
        yield();
    }
    ++block.progress;
}

inline unsigned lane() { return block.current % KERNELWRIGHT_WARP; }

inline bool lane_is_live(unsigned lane) {
    const unsigned index = block.current / KERNELWRIGHT_WARP * KERNELWRIGHT_WARP + lane;
    return index < block.threads && !block.fibers[index].done;
}

inline unsigned long long live_lanes() {
    unsigned long long lanes = 0;
    for (unsigned i = 0; i < KERNELWRIGHT_WARP; ++i) lanes |= lane_is_live(i) ? 1ull << i : 0;
    return lanes;
}

// Every lane of the mask gives a value and reads one of another lane. Lanes that have returned do
// not take part; the two generations keep a fast lane from overwriting what a slow one still reads.
template <class T, class Read>
auto exchange(unsigned long long mask, T value, Read read) {
    static_assert(sizeof(T) <= 16, "at most 16 bytes are exchanged");
    mask &= ~0ull >> (64 - KERNELWRIGHT_WARP);
    Exchange& warp = block.warps[block.current / KERNELWRIGHT_WARP][mask];
    const unsigned generation = warp.generation;
    const unsigned side = generation % 2;
    unsigned char* slots = warp.slots.data() + side * KERNELWRIGHT_WARP * 16;
    std::memcpy(slots + lane() * 16, &value, sizeof(T));
    ++warp.arrived[side];
    ++block.progress;
    while (warp.generation == generation) {
        if (warp.arrived[side] >= unsigned(__builtin_popcountll(mask & live_lanes()))) {
            warp.arrived[side] = 0;
            ++warp.generation;
            break;
        }
        yield();
    }
    ++block.progress;
    return read([&](unsigned from) {
        T other;
        std::memcpy(&other, slots + from % KERNELWRIGHT_WARP * 16, sizeof(T));
        return other;
    });
}

// All wait for others. On AMD's GPUs lanes that are elsewhere take no part in an exchange, which has no mask.
inline void part_or_give_up() {
    bool parted = false;
    if (KERNELWRIGHT_WARP == 64)
        for (auto& warp : block.warps)
            for (auto& [mask, exchange] : warp)
                if (unsigned& arrived = exchange.arrived[exchange.generation % 2]) {
                    arrived = 0;
                    ++exchange.generation;
                    parted = true;
                }
    if (parted) return;
    std::fprintf(stderr, "deadlock: threads wait at a barrier, shuffle or vote for others that do not come to it\n");
    std::abort();
}

// Runs one block to its end.
inline void run_block() {
    block.waiting = block.barrier = 0;
    block.running = block.threads;
    for (auto& warp : block.warps) warp.clear();
    for (unsigned i = 0; i < block.threads; ++i) {
        Fiber& fiber = block.fibers[i];
        fiber.done = false;
        fiber.thread = {i % block.size.x, i / block.size.x % block.size.y, i / (block.size.x * block.size.y)};
        fiber.context.prepare(fiber.stack.get(), stack_bytes, enter);
    }
    while (block.running) {
        const unsigned long long before = block.progress;
        for (unsigned i = 0; i < block.threads; ++i) {
            unsigned at = i;
            if (launches % 3 == 1) at = block.threads - 1 - i;
            if (launches % 3 == 2) at = i < (block.threads + 1) / 2 ? 2 * i : 2 * (i - (block.threads + 1) / 2) + 1;
            if (block.fibers[at].done) continue;
            block.current = at;
            block.scheduler.enter(block.fibers[at].context);
        }
        if (block.progress == before) part_or_give_up();
    }
}

inline void prepare(dim3 grid, dim3 size, size_t dynamic_bytes) {
    block.grid = grid;
    block.size = size;
    const double threads = 1.0 * size.x * size.y * size.z;
    if (threads < 1 || threads > 1024 || size.z > 64 || grid.x > INT_MAX || grid.y > 65535 || grid.z > 65535) {
        std::fprintf(stderr, "a grid of %u x %u x %u blocks of %u x %u x %u threads cannot be launched\n", grid.x, grid.y,
                     grid.z, size.x, size.y, size.z);
        std::abort();
    }
    if (dynamic_bytes > most_shared_bytes) {
        std::fprintf(stderr, "%zu bytes of shared memory are more than a block can have\n", dynamic_bytes);
        std::abort();
    }
    block.threads = unsigned(threads);
    block.dynamic.resize(dynamic_bytes + guard_bytes);
    while (block.fibers.size() < block.threads) {
        block.fibers.emplace_back();
        block.fibers.back().stack = std::make_unique<char[]>(stack_bytes);
    }
    block.warps.resize((block.threads + KERNELWRIGHT_WARP - 1) / KERNELWRIGHT_WARP);
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
                const auto guard = block.dynamic.begin() + long(dynamic_bytes);
                if (std::any_of(guard, block.dynamic.end(), [](unsigned char byte) { return byte != 0xff; })) {
                    std::fprintf(stderr, "something was written behind the %zu bytes of dynamic shared memory\n", dynamic_bytes);
                    std::abort();
                }
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

#include "simt_functions.h"

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
