// expect: ok|crashed|no_result|tampered|suspect|rejected task=row_sum max_speedup=5  defines what the runner talks to its driver with, a main and an audit hook; the kernel itself is right (A32)
static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

extern "C" long recv(int, void*, unsigned long, int) { return -1; }
extern "C" long send(int, const void*, unsigned long size, int) { return static_cast<long>(size); }
extern "C" void _start() {}
extern "C" unsigned la_version(unsigned version) { return version; }
int main() { return 0; }

extern "C" void kernel(const float* x, float* y, long M, long N) {
    honest(x, y, M, N);
}
