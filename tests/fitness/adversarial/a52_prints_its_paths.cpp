// expect: crashed task=row_sum secret=kernelwright/  prints where the program and its libraries lie, then aborts (A52)
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <link.h>

static int show(dl_phdr_info* info, size_t, void*) {
    std::printf("%s\n", info->dlpi_name);
    return 0;
}

extern "C" void kernel(const float*, float*, long, long) {
    std::printf("%s\n", program_invocation_name);
    dl_iterate_phdr(show, nullptr);
    std::fflush(stdout);
    std::abort();
}
