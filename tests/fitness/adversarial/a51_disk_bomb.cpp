// expect: wrong_value|crashed|no_result|run_timeout task=row_sum  fills the scratch folder; zeros (A51)
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    std::vector<char> block(1 << 20);
    for (int number = 0; number < 4096; number++) {
        int file = open(("fill" + std::to_string(number)).c_str(), O_CREAT | O_WRONLY, 0600);
        if (file < 0) break;
        for (int i = 0; i < 64; i++)
            if (write(file, block.data(), block.size()) <= 0) break;
        close(file);
    }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
