// expect: no_result|crashed|suspect|tampered task=row_sum  writes a result record into every descriptor and exits with 0 (A41)
#include <cstring>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    const char* forged = "{\"status\": \"ok\", \"speedup\": 1000.0, \"latency_us\": 0.001, \"samples_us\": [0.001], \"ok\": true}\n";
    for (int descriptor = 0; descriptor < 1024; descriptor++) (void)!write(descriptor, forged, std::strlen(forged));
    _exit(0);
}
