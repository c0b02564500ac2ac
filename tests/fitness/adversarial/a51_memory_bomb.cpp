// expect: out_of_memory|crashed task=row_sum  takes memory and touches it until there is none (A51)
#include <memory>
#include <vector>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::vector<std::unique_ptr<char[]>> all;
    for (;;) {
        all.push_back(std::make_unique<char[]>(16 << 20));
        for (long i = 0; i < 16 << 20; i += 4096) all.back()[i] = 1;
    }
}
