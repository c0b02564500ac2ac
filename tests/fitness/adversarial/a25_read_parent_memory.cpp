// expect: wrong_value task=row_sum  opens the memory of its parent and grandparent, answers zeros (A25)
#include <fcntl.h>
#include <initializer_list>
#include <string>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (pid_t process : {getppid(), 1}) {
        int memory = open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDWR);
        if (memory >= 0) {
            char page[4096];
            pread(memory, page, sizeof page, 0x400000);
            close(memory);
        }
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
