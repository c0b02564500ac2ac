// The program inside the sandbox. Nothing here decides anything: it is in the same process as the candidate.
//
//   runner key=value... [-- command...]
//
// It starts as the init process of the sandbox, forks, and reaps. The child limits itself and then either becomes
// `command` (a compiler) or loads `object` and calls `symbol` whenever the driver asks. When the child ends, for
// whatever reason, init reports its wait status and kills everything that is left; when the driver hangs up, too.
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <exception>
#include <new>

#include "init.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace kernelwright;

// ---- memory -------------------------------------------------------------------------------------------

static char* notes = nullptr;  // the last page of the arena: what may help to explain an end; believed for that only

static uint8_t dirt = 0;  // what fresh memory holds, so that nobody takes it for zero; 0 leaves it as it is

static void* noted(void* memory, size_t size, bool fresh = false) {
    if (!memory && size > 0 && notes) notes[0] = 1;
    if (memory && fresh && dirt) memset(memory, dirt, size);
    return memory;
}

#if defined(__GLIBC__)
// The candidate's calls bind to these: an allocation that was refused explains the crash that often follows.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* malloc(size_t size) { return noted(__libc_malloc(size), size, true); }
void* calloc(size_t count, size_t size) { return noted(__libc_calloc(count, size), count * size); }
void* realloc(void* old, size_t size) { return noted(__libc_realloc(old, size), size); }
void* memalign(size_t alignment, size_t size) { return noted(__libc_memalign(alignment, size), size, true); }
void* aligned_alloc(size_t alignment, size_t size) { return noted(__libc_memalign(alignment, size), size, true); }
int posix_memalign(void** result, size_t alignment, size_t size) {
    if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void* memory = noted(__libc_memalign(alignment, size), size, true);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
    long result = syscall(SYS_mmap, at, size, protection, flags, fd, offset);
    if (result == -1 && errno == ENOMEM) noted(nullptr, size);
    return reinterpret_cast<void*>(result);
}
}
#endif

// ---- calling ------------------------------------------------------------------------------------------

// All arguments are pointers or longs, which travel alike on every 64-bit ABI of interest.
template <int... I>
struct List {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
    using type = List<I...>;
};
template <int>
using Long = long;

template <int... I>
static void apply(void* function, const long* a, List<I...>) {
    reinterpret_cast<void (*)(Long<I>...)>(function)(a[I]...);
}
template <int N>
static void invoke(void* function, const long* arguments) {
    apply(function, arguments, typename Count<N>::type{});
}
using Invoke = void (*)(void*, const long*);
static const Invoke invokers[MAX_ARGUMENTS + 1] = {
    invoke<0>, invoke<1>, invoke<2>,  invoke<3>,  invoke<4>,  invoke<5>,  invoke<6>,  invoke<7>, invoke<8>,
    invoke<9>, invoke<10>, invoke<11>, invoke<12>, invoke<13>, invoke<14>, invoke<15>, invoke<16>,
};

// What an uninitialised local variable finds; differs from one round to the next.
__attribute__((noinline)) static void dirty_stack(uint8_t byte) {
    volatile uint8_t waste[1 << 16];
    for (size_t i = 0; i < sizeof waste; ++i) waste[i] = byte;
}

static void reset_float_state() {
#if defined(__x86_64__)
    _mm_setcsr(0x1f80);
#endif
}

static uint64_t float_state() {
#if defined(__x86_64__)
    return _mm_getcsr();
#else
    return 0;
#endif
}

static uint32_t call_all(void* function, Invoke call, const long* table, int width, const Message& order) {
    try {
        for (uint64_t i = 0; i < order.value; ++i) {
            if (order.extra) dirty_stack(static_cast<uint8_t>(order.extra));
            call(function, table + i * static_cast<uint64_t>(width));
        }
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    } catch (...) {
        return THROWN;
    }
    return DONE;
}

[[noreturn]] static void serve(char** argv, int work, char* arena) {
    const int width = static_cast<int>(number(argv, "arguments", 0));
    void* function = nullptr;
    Message order;
    while (recv(work, &order, sizeof order, 0) == static_cast<ssize_t>(sizeof order)) {
        if (order.kind == LOAD) {
            void* library = dlopen(option(argv, "object", ""), RTLD_NOW | RTLD_LOCAL);
            function = library ? dlsym(library, option(argv, "symbol", "kernel")) : nullptr;
            if (function && width <= MAX_ARGUMENTS) say(work, LOADED, order.sequence, 0);
            else say(work, NO_LOAD, order.sequence, 0, 0, library ? "entry point not found" : dlerror());
            continue;
        }
        if (order.kind == SEAL) {
            mprotect(arena + order.value, order.extra, PROT_READ);
            say(work, DONE, order.sequence, 0);
            continue;
        }
        if (!function) break;
        reset_float_state();
        dirt = static_cast<uint8_t>(order.extra);
        uint32_t kind = call_all(function, invokers[width], reinterpret_cast<long*>(arena), width, order);
        say(work, kind, order.sequence, float_state());
    }
    _exit(0);
}

// ---- the child ----------------------------------------------------------------------------------------

static char** command(char** argv) {
    for (char** each = argv + 1; *each; ++each)
        if (strcmp(*each, "--") == 0) return each + 1;
    return nullptr;
}

[[noreturn]] static void fail(int work, const char* what) {
    say(work, NO_LOAD, 0, static_cast<uint64_t>(errno), 1, what);
    _exit(121);
}

[[noreturn]] static void child(char** argv, int work) {
    become_child();
    char** program = command(argv);
    const int arena_fd = static_cast<int>(number(argv, "arena_fd", -1));
    const long arena_bytes = number(argv, "arena_bytes", 0);
    char* arena = nullptr;
    if (arena_bytes > 0) {
        void* at = mmap(nullptr, static_cast<size_t>(arena_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd, 0);
        if (at == MAP_FAILED) fail(work, "mmap");
        arena = static_cast<char*>(at);
        notes = arena + arena_bytes - 4096;
    }
    apply_limits(argv);
    close_descriptors({work});
    if (number(argv, "landlock", 0) && !restrict_files(all(argv, "read"), all(argv, "write"))) fail(work, "landlock");
    const bool filter = number(argv, "seccomp", 1) != 0;
    if (program) {
        fcntl(work, F_SETFD, FD_CLOEXEC);
        if (filter && !confine_build(number(argv, "local_sockets", 0) != 0)) fail(work, "seccomp");
        execvp(program[0], program);
        fail(work, program[0]);
    }
    setpgid(0, 0);             // what it sends to its process group reaches itself alone
    signal(SIGXFSZ, SIG_IGN);  // a flood of output is dropped, not punished
    if (filter && !confine_kernel()) fail(work, "seccomp");
    say(work, READY, 0, reinterpret_cast<uint64_t>(arena));
    serve(argv, work, arena);
}

// ---- init ---------------------------------------------------------------------------------------------

int main(int, char** argv) {
    const int init = static_cast<int>(number(argv, "init_fd", 3));
    const int work = static_cast<int>(number(argv, "work_fd", 4));
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (getpid() != 1) prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    const int signals = watched_signals();
    say(init, HELLO, 0, 0);
    const pid_t pid = fork();
    if (pid == 0) child(argv, work);
    close_descriptors({init, signals});
    watch(init, signals, pid);
    return 0;  // as process 1 of its namespace, its end is everybody's
}
