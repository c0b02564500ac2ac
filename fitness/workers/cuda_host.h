// The host side of a CUDA source whose device code NVRTC has compiled: launches through the driver.
//
// Compiled in front of the source, from which the bodies of device functions have been taken out.
// The driver's library is looked up at run time, so that building needs no CUDA installation.
#pragma once
#include <dlfcn.h>

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define warpSize 32

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct float2 { float x, y; };
struct float3 { float x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
struct int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct __half { unsigned short bits; };
struct __half2 { __half x, y; };
struct __nv_bfloat16 { unsigned short bits; };
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __half half;
typedef __half2 half2;

inline __half __float2half(float x) { _Float16 rounded = x; __half h; std::memcpy(&h, &rounded, 2); return h; }
inline __half __float2half_rn(float x) { return __float2half(x); }
inline float __half2float(__half h) { _Float16 x; std::memcpy(&x, &h, 2); return x; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) { return a > b ? a : b; }
template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) { return a < b ? a : b; }

typedef struct CUstream_st* cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3, cudaMemcpyDefault = 4 };
enum {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16, cudaDevAttrL2CacheSize = 38, cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};

namespace kernelwright {

struct Compiled {
    const char *name, *symbol;  // as written, as the binary calls it
    void* function;
};
}  // namespace kernelwright

extern const char kernelwright_cubin[];
extern kernelwright::Compiled kernelwright_compiled[];  // ends with nulls

namespace kernelwright {

// Every candidate compiles what it uses of this: plain arrays cost a third of what maps do.
inline void* symbol(const char* name) {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    static struct { const char* name; void* address; } known[64];
    int at = 0;
    while (at < 63 && known[at].name && known[at].name != name) ++at;
    if (known[at].name != name) known[at] = {name, library ? dlsym(library, name) : nullptr};
    if (!known[at].address) {
        std::fprintf(stderr, "the CUDA driver has no %s\n", name);
        std::abort();
    }
    return known[at].address;
}

// What a capture into a graph refuses (900 to 907: to allocate, to wait) is told to nobody but the capture, which fails.
inline void demand(int result, const char* what) {
    if (result != 0 && (result < 900 || result > 907)) {
        std::fprintf(stderr, "%s failed with CUDA error %d\n", what, result);
        std::abort();
    }
}

template <class... Arguments>
int call(const char* name, Arguments... arguments) {
    const int result = reinterpret_cast<int (*)(Arguments...)>(symbol(name))(arguments...);
    demand(result, name);
    return result;
}

inline void* function(const char* name) {
    static void* module = [] {
        void* loaded = nullptr;
        call("cuModuleLoadData", &loaded, static_cast<const void*>(kernelwright_cubin));
        return loaded;
    }();
    Compiled* found = kernelwright_compiled;
    while (found->name && std::strcmp(found->name, name)) ++found;
    if (found->name && !found->function) call("cuModuleGetFunction", &found->function, module, found->symbol);
    if (!found->function) demand(500, name);
    return found->function;
}

struct Configuration {
    dim3 grid, size;
    size_t dynamic_bytes;
    cudaStream_t stream;
    Configuration(dim3 grid, dim3 size, size_t dynamic_bytes = 0, cudaStream_t stream = nullptr)
        : grid(grid), size(size), dynamic_bytes(dynamic_bytes), stream(stream) {}
};

template <class Function>
struct Launcher;

template <class... Parameters>
struct Launcher<void (*)(Parameters...)> {
    const char* name;
    Configuration configuration;
    void operator()(Parameters... parameters) const {
        void* addresses[] = {const_cast<void*>(static_cast<const void*>(&parameters))..., nullptr};
        void* launched = function(name);
        const Configuration& c = configuration;
        if (c.dynamic_bytes > 48 * 1024) call("cuFuncSetAttribute", launched, 8, static_cast<int>(c.dynamic_bytes));
        call("cuLaunchKernel", launched, c.grid.x, c.grid.y, c.grid.z, c.size.x, c.size.y, c.size.z,
             static_cast<unsigned>(c.dynamic_bytes), c.stream, static_cast<void**>(addresses), static_cast<void**>(nullptr));
    }
};

template <class Function>
Launcher<Function> launcher(const char* name, Configuration configuration) {
    return {name, configuration};
}

}  // namespace kernelwright

// What launchers call of the runtime. A call that fails ends the process with the driver's error: there is no last error.
inline cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream = nullptr) {
    return kernelwright::call("cuMemsetD8Async", reinterpret_cast<unsigned long long>(at),
                              static_cast<unsigned char>(value), bytes, stream);
}
inline cudaError_t cudaMemset(void* at, int value, size_t bytes) { return cudaMemsetAsync(at, value, bytes); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, cudaStream_t stream = nullptr) {
    return kernelwright::call("cuMemcpyAsync", reinterpret_cast<unsigned long long>(to),
                              reinterpret_cast<unsigned long long>(from), bytes, stream);
}
template <class T>
cudaError_t cudaMalloc(T** at, size_t bytes) {
    *at = nullptr;
    return kernelwright::call("cuMemAlloc_v2", reinterpret_cast<unsigned long long*>(at), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** at, size_t bytes, cudaStream_t stream) {
    *at = nullptr;
    return kernelwright::call("cuMemAllocAsync", reinterpret_cast<unsigned long long*>(at), bytes, stream);
}
inline cudaError_t cudaFree(void* at) {
    return at ? kernelwright::call("cuMemFree_v2", reinterpret_cast<unsigned long long>(at)) : cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) {
    return at ? kernelwright::call("cuMemFreeAsync", reinterpret_cast<unsigned long long>(at), stream) : cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return kernelwright::call("cuStreamSynchronize", stream); }
inline cudaError_t cudaDeviceSynchronize() { return kernelwright::call("cuCtxSynchronize"); }
inline cudaError_t cudaGetDevice(int* device) { return kernelwright::call("cuCtxGetDevice", device); }
inline cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {  // numbered as the driver does
    return kernelwright::call("cuDeviceGetAttribute", value, attribute, device);
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "no error"; }
template <class... Arguments>
cudaError_t cudaFuncSetAttribute(Arguments...) { return cudaSuccess; }
#define KERNELWRIGHT_DYNAMIC_SHARED(T, name) T* name = nullptr
