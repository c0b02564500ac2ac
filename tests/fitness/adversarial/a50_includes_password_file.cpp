// expect: build_failed|rejected task=row_sum secret=root:  includes a file of the system, to read it in the error messages (A50, A52)
#include "/etc/passwd"
extern "C" void kernel(const float*, float*, long, long) {}
