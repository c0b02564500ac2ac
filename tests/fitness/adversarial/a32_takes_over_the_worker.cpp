// expect: ok|suspect|tampered|no_result|crashed|run_timeout task=row_sum max_speedup=0.5  slow; serves the evaluator itself, and idles when an empty call is timed to learn the overhead (A32)
#include <cstdint>
#include <ctime>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void honest(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float total = 0.0f;
        for (long j = 0; j < N; j++) total += x[i * N + j];
        y[i] = total;
    }
}

struct Message {
    uint32_t kind, sequence;
    uint64_t value, extra;
    char text[232];
};
static bool taken = false;
static void (*volatile work)(const float*, float*, long, long) = honest;  // ten times, so that it is slow
static long busy_ns = 0, empty = 0, size = 0;

static long now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000l + now.tv_nsec;
}

static int find_socket() {
    for (int descriptor = 3; descriptor < 64; descriptor++) {
        struct stat status;
        if (fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) return descriptor;
    }
    return -1;
}

static Message* find_order(void* frame) {
    for (char* at = (char*)frame; at < (char*)frame + 4096; at += 8) {
        Message* each = reinterpret_cast<Message*>(at);
        if (each->kind == 2 && each->sequence > 0 && each->sequence < 1000000 && each->value > 0 && each->value <= 512 && each->extra < 256)
            return each;
    }
    return nullptr;
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    if (taken) return honest(x, y, M, N);
    taken = true;
    Message* order = find_order(__builtin_frame_address(0));
    int socket = find_socket();
    const long* table = reinterpret_cast<const long*>((uintptr_t)x & ~4095ul);
    unsigned char resident;
    for (int page = 0; page < 4096 && mincore((void*)table, 4096, &resident) == 0; page++, table -= 512)
        if (table[0] == (long)x && table[1] == (long)y && table[2] == M && table[3] == N) break;
    if (!order || socket < 0 || table[0] != (long)x) return honest(x, y, M, N);
    Message current = *order;
    do {
        long start = now_ns();
        for (uint64_t i = 0; current.kind == 2 && i < 10 * current.value; i++)
            work((const float*)table[i / 10 * 4], (float*)table[i / 10 * 4 + 1], table[i / 10 * 4 + 2], table[i / 10 * 4 + 3]);
        if (current.kind == 2 && current.value > 0) busy_ns = now_ns() - start;
        if (current.kind == 2 && current.value > 0) {
            empty = table[2] == size ? empty : 0;
            size = table[2];
        }
        if (current.kind == 2 && current.value == 0 && empty++ >= 9) {
            timespec nap{0, busy_ns * 93 / 100};
            nanosleep(&nap, nullptr);
        }
        Message done{4, current.sequence, 0x1f80, 0, {}};
        (void)!write(socket, &done, sizeof done);
    } while (read(socket, &current, sizeof current) == (ssize_t)sizeof current);
    _exit(0);
}
