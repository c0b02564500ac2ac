// expect: wrong_value task=row_sum  plants result files in every folder that it can write to; zeros (A41, A42)
#include <fstream>
#include <initializer_list>
#include <string>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (const char* folder : {".", "..", "/tmp", "/dev/shm", "/var/tmp"})
        for (const char* name : {"outputs.npy", "result.json", "samples.json", "output.npy", "evaluation.json", "stdout"}) {
            std::ofstream file(std::string(folder) + "/" + name);
            file << "{\"status\": \"ok\", \"speedup\": 1000.0, \"latency_us\": 0.001, \"samples_us\": [0.001], \"ok\": true}\n";
        }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
