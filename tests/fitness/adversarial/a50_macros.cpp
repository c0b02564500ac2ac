// expect: build_failed|build_timeout task=row_sum  macros that grow to a hundred million tokens (A50)
#define A0 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1
#define A1 A0 + A0 + A0 + A0 + A0 + A0 + A0 + A0 + A0 + A0
#define A2 A1 + A1 + A1 + A1 + A1 + A1 + A1 + A1 + A1 + A1
#define A3 A2 + A2 + A2 + A2 + A2 + A2 + A2 + A2 + A2 + A2
#define A4 A3 + A3 + A3 + A3 + A3 + A3 + A3 + A3 + A3 + A3
#define A5 A4 + A4 + A4 + A4 + A4 + A4 + A4 + A4 + A4 + A4
#define A6 A5 + A5 + A5 + A5 + A5 + A5 + A5 + A5 + A5 + A5
#define A7 A6 + A6 + A6 + A6 + A6 + A6 + A6 + A6 + A6 + A6
#define A8 A7 + A7 + A7 + A7 + A7 + A7 + A7 + A7 + A7 + A7

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) y[i] = 0.0f;
    y[0] = A8;
}
