// expect: ok|suspect|crashed|rejected task=row_sum max_speedup=20  overwrites the first instructions of clock_gettime; the kernel itself is slow (A34)
#include <cstdint>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
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

__attribute__((constructor)) static void install() {
    auto target = (unsigned char*)dlsym(RTLD_DEFAULT, "clock_gettime");
    if (!target) return;
    uintptr_t page = (uintptr_t)target & ~4095ul;
    if (mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
    unsigned char jump[12] = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0};
    void* destination = (void*)slow_clock;
    std::memcpy(jump + 2, &destination, sizeof destination);
    std::memcpy(target, jump, sizeof jump);
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
    for (volatile long i = 0; i < 3000000; i = i + 1) {
    }
}
