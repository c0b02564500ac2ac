// Calls a kernel that was compiled together with this file under a sanitizer, on the cases of one data file.
// Every buffer is a heap block of its exact size, so that the sanitizer sees the first byte beyond it.
//
// File: number of cases; for each: number of buffers, number of extents; for each buffer: bytes, 1 if an output;
// the extents; then the bytes of the inputs. All numbers are 64-bit.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

extern "C" void ENTRY_POINT();

template <int... I>
struct List {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
    using type = List<I...>;
};
template <int>
using Long = long;

template <int... I>
static void apply(const long* a, List<I...>) {
    reinterpret_cast<void (*)(Long<I>...)>(ENTRY_POINT)(a[I]...);
}

static void read_all(FILE* file, void* at, size_t bytes) {
    if (bytes && fread(at, 1, bytes, file) != bytes) exit(3);
}

static int64_t number(FILE* file) {
    int64_t value = 0;
    read_all(file, &value, sizeof value);
    return value;
}

static void one_case(FILE* file) {
    const int64_t buffers = number(file), extents = number(file);
    std::vector<int64_t> bytes, output;
    for (int64_t i = 0; i < buffers; ++i) bytes.push_back(number(file)), output.push_back(number(file));
    std::vector<std::unique_ptr<char[]>> memory;
    long arguments[16] = {};
    for (int64_t i = 0; i < buffers; ++i) {
        memory.emplace_back(new char[static_cast<size_t>(bytes[i])]);
        arguments[i] = reinterpret_cast<long>(memory.back().get());
    }
    for (int64_t i = 0; i < extents; ++i) arguments[buffers + i] = number(file);
    for (int64_t i = 0; i < buffers; ++i)
        if (!output[i]) read_all(file, memory[i].get(), static_cast<size_t>(bytes[i]));
    apply(arguments, Count<ARGUMENTS>::type{});
}

int main() {
    FILE* file = fopen("cases", "rb");
    if (!file) return 3;
    for (int64_t left = number(file); left > 0; --left) one_case(file);
    return 0;
}
