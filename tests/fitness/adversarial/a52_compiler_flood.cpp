// expect: build_failed|rejected task=row_sum  tens of thousands of error messages (A52)
#define E(n) int v##n = undefined_##n;
#define F(n) E(n##0) E(n##1) E(n##2) E(n##3) E(n##4) E(n##5) E(n##6) E(n##7) E(n##8) E(n##9)
#define G(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define H(n) G(n##0) G(n##1) G(n##2) G(n##3) G(n##4) G(n##5) G(n##6) G(n##7) G(n##8) G(n##9)
H(1) H(2) H(3) H(4) H(5) H(6) H(7) H(8) H(9)
extern "C" void kernel(const float*, float*, long, long) {}
