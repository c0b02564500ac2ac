// expect: no_result|crashed task=row_sum  exits through a system call in assembly (A43, A46)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    asm volatile("syscall" : : "a"(231L), "D"(0L) : "rcx", "r11", "memory");
}
