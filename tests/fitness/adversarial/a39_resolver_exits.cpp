// expect: no_result|crashed task=row_sum  the symbol is resolved by a function that exits with 0 (A39, A43)
extern "C" {
static void* resolve() {
    __asm__ volatile("mov $231, %eax; xor %edi, %edi; syscall");
    return nullptr;
}
void kernel(const float*, float*, long, long) __attribute__((ifunc("resolve")));
}
