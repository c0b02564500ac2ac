// expect: ok task=gelu_bias  honest: a table computed by a static constructor, used as a start for refinement
#include <cmath>

struct Table {
    float half, root;
    Table() : half(0.5f), root(1.0f / std::sqrt(2.0f)) {}
};
static const Table table;

extern "C" void kernel(const float* x, const float* bias, float* y, long M, long N) {
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            float v = x[i * N + j] + bias[j];
            y[i * N + j] = v * table.half * (1.0f + std::erf(v * table.root));
        }
}
