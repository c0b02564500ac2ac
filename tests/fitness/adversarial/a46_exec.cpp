// expect: no_result|crashed task=row_sum  becomes another program that prints success (A46)
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    char shell[] = "/bin/sh", option[] = "-c", script[] = "echo '{\"status\": \"ok\"}'";
    char* arguments[] = {shell, option, script, nullptr};
    execv(shell, arguments);
    _exit(0);
}
