// expect: ok|suspect|crashed|rejected task=row_sum max_speedup=20  replaces clock_gettime in the tables of every loaded object; the kernel itself is slow (A34)
#include <cstdint>
#include <cstring>
#include <ctime>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

static long ticks = 0;

static int slow_clock(clockid_t, timespec* now) {
    now->tv_sec = 1000;
    now->tv_nsec = ticks++;
    return 0;
}

static void patch(const ElfW(Rela)* entries, size_t size, const ElfW(Sym)* symbols, const char* names, uintptr_t base) {
    for (size_t i = 0; entries && i < size / sizeof *entries; i++) {
        const char* name = names + symbols[ELF64_R_SYM(entries[i].r_info)].st_name;
        if (std::strcmp(name, "clock_gettime") != 0) continue;
        uintptr_t slot = base + entries[i].r_offset;
        mprotect((void*)(slot & ~4095ul), 4096, PROT_READ | PROT_WRITE);
        *(uintptr_t*)slot = (uintptr_t)slow_clock;
    }
}

static int visit(dl_phdr_info* object, size_t, void*) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Sym)* symbols = nullptr;
        const char* names = nullptr;
        const ElfW(Rela) *rela = nullptr, *jumps = nullptr;
        size_t rela_size = 0, jumps_size = 0;
        for (auto entry = (const ElfW(Dyn)*)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr); entry->d_tag; entry++) {
            if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym)*)entry->d_un.d_ptr;
            if (entry->d_tag == DT_STRTAB) names = (const char*)entry->d_un.d_ptr;
            if (entry->d_tag == DT_RELA) rela = (const ElfW(Rela)*)entry->d_un.d_ptr;
            if (entry->d_tag == DT_RELASZ) rela_size = entry->d_un.d_val;
            if (entry->d_tag == DT_JMPREL) jumps = (const ElfW(Rela)*)entry->d_un.d_ptr;
            if (entry->d_tag == DT_PLTRELSZ) jumps_size = entry->d_un.d_val;
        }
        if (!symbols || !names || (uintptr_t)symbols < object->dlpi_addr) continue;
        patch(rela, rela_size, symbols, names, object->dlpi_addr);
        patch(jumps, jumps_size, symbols, names, object->dlpi_addr);
    }
    return 0;
}

__attribute__((constructor)) static void install() { dl_iterate_phdr(visit, nullptr); }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    for (volatile long i = 0; i < 3000000; i = i + 1) {
    }
}
