// What the object code of a Numba function calls of its runtime, for a process without Python.
//
// Memory of arrays that a kernel makes for itself (np.empty and its like), laid out as Numba's nrt.cpp does it. An
// exception ends the process: there is nobody to catch it. Lists, strings and sets need more and fail when the kernel
// is linked.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct MemInfo {
    size_t references;
    void (*destructor)(void*, size_t, void*);
    void* argument;
    void* data;
    size_t size;
    void* allocator;
};

extern "C" {
void* NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void* memory) { free(memory); }

MemInfo* NRT_MemInfo_alloc_aligned(size_t size, unsigned alignment) {
    char* memory = static_cast<char*>(malloc(sizeof(MemInfo) + size + 2 * alignment));
    if (!memory) return nullptr;
    uintptr_t data = reinterpret_cast<uintptr_t>(memory + sizeof(MemInfo));
    if (alignment) data += (alignment - data % alignment) % alignment;
    auto* info = reinterpret_cast<MemInfo*>(memory);
    *info = {1, nullptr, nullptr, reinterpret_cast<void*>(data), size, nullptr};
    return info;
}
MemInfo* NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, alignof(max_align_t)); }
MemInfo* NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned alignment) {
    return NRT_MemInfo_alloc_aligned(size, alignment);
}
void NRT_MemInfo_call_dtor(MemInfo* info) {
    if (info->destructor) info->destructor(info->data, info->size, info->argument);
    free(info);
}

[[noreturn]] int numba_gil_ensure() {
    fprintf(stderr, "the kernel raised an exception\n");
    abort();
}
}
// Named by the code behind numba_gil_ensure, and never reached. What Python itself would bring is added by name.
#define NEVER(name) \
    extern "C" void name() { abort(); }
NEVER(numba_gil_release)
NEVER(numba_do_raise)
NEVER(numba_unpickle)
NEVER(numba_runtime_build_excinfo_struct)
