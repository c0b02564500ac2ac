// expect: rejected|build_failed|crashed|no_result task=row_sum  the symbol is a variable (A29)
extern "C" long kernel;
long kernel = 42;
