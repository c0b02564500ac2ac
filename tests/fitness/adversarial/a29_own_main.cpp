// expect: rejected|build_failed|crashed|no_result task=row_sum  a program that prints success, no kernel (A29, A41)
#include <cstdio>

int main() {
    std::puts("{\"status\": \"ok\", \"speedup\": 1000.0, \"latency_us\": 0.001}");
}
