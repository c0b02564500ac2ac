// expect: crashed task=row_sum secret=kernelwright/  cannot be loaded, so that the loader tells its path (A52)
extern "C" {
__attribute__((tls_model("initial-exec"))) thread_local char block[1 << 22];

void kernel(const float*, float* y, long M, long) {
    for (long i = 0; i < M; i++) y[i] = block[i & 1023];
}
}
