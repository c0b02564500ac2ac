// expect: build_failed|build_timeout|rejected task=row_sum  assembles an endless file into the artifact (A50)
asm(".data\n.incbin \"/dev/zero\"\n.text\n");

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
