// expect: wrong_value task=row_sum  reads standard input, descriptors and files for the data while being loaded (A39)
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

static char stolen[1 << 16];

__attribute__((constructor)) static void read_everything() {
    for (const char* name : {"inputs.npy", "manifest.json", "expected.npy", "../expected.npy", "/proc/self/environ"}) {
        int file = open(name, O_RDONLY);
        if (file >= 0) {
            read(file, stolen, sizeof stolen);
            close(file);
        }
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
