// The trusted half of a measurement: loaded into the parent, it prepares memory, gives the word, reads the clocks
// and looks at what came back. It never executes anything that a candidate wrote.
#include "driver.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

using namespace kernelwright;

namespace {

int64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

// CPU time of all threads of another process, as the system counts it; -1 when it is gone.
int64_t cpu_ns_of(int32_t process) {
    clockid_t clock;
    timespec t;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &t) != 0) return -1;
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

// How long the thread behind a schedstat file could have run while others did; 0 where the system does not tell.
int64_t delay_ns_of(int fd) {
    char text[96];
    const ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = 0;
    const char* second = strchr(text, ' ');
    return second ? strtoll(second, nullptr, 10) : 0;
}

// The schedstat file of the calling thread, for the length of one call of the driver.
class Own {
  public:
    Own() : fd_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
    ~Own() {
        if (fd_ >= 0) close(fd_);
    }
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;
    int64_t delay_ns() const { return delay_ns_of(fd_); }

  private:
    int fd_;
};

uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Around inputs a NaN, as float and as double: what is read too far shows. Around outputs a pattern of this call's own.
uint64_t guard_for(int kind, uint64_t key) { return kind == 0 ? 0x7fd5c3a97fd5c3a9ull : mix(key ^ 0x6775617264ull); }

// The two sources of an input, and what chooses between them. The very same code writes inputs, looks whether they
// are intact, and hands them to the judge.
template <typename T, typename Visit>
void for_elements(const Buffer& buffer, const void* first, const void* second, uint64_t key, Visit visit) {
    const T* __restrict__ a = static_cast<const T*>(first);
    const T* __restrict__ b = static_cast<const T*>(second);
    const uint64_t count = buffer.bytes / sizeof(T);
    if (buffer.blend == MEAN) {
        const T part = static_cast<T>(mix(key) >> 40) * static_cast<T>(0x1p-24), rest = static_cast<T>(1) - part;
        for (uint64_t i = 0; i < count; ++i) visit(i, a[i] * part + b[i] * rest);
        return;
    }
    uint64_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const uint32_t bits = static_cast<uint32_t>(mix(key + i) >> 32);
        for (uint32_t j = 0; j < 32; ++j) visit(i + j, (bits >> j) & 1u ? a[i + j] : b[i + j]);
    }
    const uint32_t bits = static_cast<uint32_t>(mix(key + i) >> 32);
    for (uint32_t j = 0; i + j < count; ++j) visit(i + j, (bits >> j) & 1u ? a[i + j] : b[i + j]);
}

template <typename T>
void blend(const Buffer& buffer, const void* first, const void* second, uint64_t key, void* to) {
    T* __restrict__ y = static_cast<T*>(to);
    for_elements<T>(buffer, first, second, key, [y](uint64_t i, T value) { y[i] = value; });
}

template <typename T, typename Bits>
bool still_blended(const Buffer& buffer, const void* first, const void* second, uint64_t key, const void* at) {
    const T* y = static_cast<const T*>(at);
    Bits difference = 0;
    for_elements<T>(buffer, first, second, key, [&](uint64_t i, T value) {
        Bits wanted, found;
        memcpy(&wanted, &value, sizeof wanted);
        memcpy(&found, y + i, sizeof found);
        difference |= wanted ^ found;
    });
    return difference == 0;
}

void write_input(uint8_t* at, const Buffer& buffer, const void* first, const void* second, uint64_t key) {
    if (first == second || buffer.blend == WHOLE || buffer.element == RAW) {
        if (buffer.bytes) memcpy(at, first, buffer.bytes);
    } else if (buffer.element == FLOAT32) {
        blend<float>(buffer, first, second, key, at);
    } else {
        blend<double>(buffer, first, second, key, at);
    }
}

bool is_input_intact(const uint8_t* at, const Buffer& buffer, const void* first, const void* second, uint64_t key) {
    if (first == second || buffer.blend == WHOLE || buffer.element == RAW)
        return buffer.bytes == 0 || memcmp(at, first, buffer.bytes) == 0;
    if (buffer.element == FLOAT32) return still_blended<float, uint32_t>(buffer, first, second, key, at);
    return still_blended<double, uint64_t>(buffer, first, second, key, at);
}

// A NaN of this call's own, or a pattern for types without NaN.
uint64_t poison_for(uint32_t element, uint64_t key) {
    uint64_t random = mix(key ^ 0x706f69736f6eull);
    if (element == FLOAT64) return 0x7ff8000000000000ull | (random >> 13) | 1u;
    uint32_t half = static_cast<uint32_t>(random >> 32);
    if (element == FLOAT32) half = 0x7fc00000u | (half >> 10) | 1u;
    return (static_cast<uint64_t>(half) << 32) | half;
}

void spread(uint8_t* at, uint64_t bytes, uint64_t pattern) {
    uint64_t i = 0;
    for (; i + 8 <= bytes; i += 8) memcpy(at + i, &pattern, 8);
    memcpy(at + i, &pattern, bytes - i);
}

bool holds(const uint8_t* at, uint64_t bytes, uint64_t pattern) {
    uint64_t i = 0, difference = 0, word;
    for (; i + 8 <= bytes; i += 8) {
        memcpy(&word, at + i, 8);
        difference |= word ^ pattern;
    }
    return difference == 0 && memcmp(at + i, &pattern, bytes - i) == 0;
}

uint32_t inputs_of(const Plan& plan) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan.buffers; ++i) count += plan.buffer[i].is_output ? 0 : 1;
    return count;
}

uint8_t* start_of(const Plan& plan, uint8_t* arena, uint32_t set, int kind) {
    return arena + plan.origin[kind] + plan.stride[kind] * set;
}

uint8_t* place_of(const Plan& plan, uint8_t* arena, uint32_t set, const Buffer& buffer) {
    return start_of(plan, arena, set, buffer.is_output ? 1 : 0) + buffer.offset;
}

// Calls `visit(at, bytes, kind)` for every gap around the buffers of a set.
template <typename Visit>
void for_guards(const Plan& plan, uint8_t* arena, uint32_t set, Visit visit) {
    uint64_t from[2] = {0, 0};
    for (uint32_t i = 0; i < plan.buffers; ++i) {
        const Buffer& buffer = plan.buffer[i];
        const int kind = buffer.is_output ? 1 : 0;
        visit(start_of(plan, arena, set, kind) + from[kind], buffer.offset - from[kind], kind);
        from[kind] = buffer.offset + buffer.bytes;
    }
    for (int kind = 0; kind < 2; ++kind)
        visit(start_of(plan, arena, set, kind) + from[kind], plan.stride[kind] - from[kind], kind);
}

// Looks for poison at a few secret places and at both ends.
bool has_poison(const uint8_t* at, const Buffer& buffer, uint64_t key, uint64_t secret) {
    const uint64_t size = buffer.element == FLOAT64 ? 8 : 4;
    const uint64_t count = buffer.bytes / size;
    if (buffer.element == RAW || count == 0) return false;
    const uint64_t poison = poison_for(buffer.element, key);
    for (uint64_t i = 0; i < 34; ++i) {
        uint64_t where = i == 0 ? 0 : i == 1 ? count - 1 : mix(secret + i) % count;
        if (memcmp(at + where * size, &poison, size) == 0) return true;
    }
    return false;
}

// `sources` are the pool's inputs, entry by entry; `d` says which of them this call got.
Outcome inspect_set(const Plan& plan, uint8_t* arena, uint32_t set, const void* const* sources, const Draw& d,
                    bool with_inputs) {
    bool intact = true;
    for_guards(plan, arena, set, [&](uint8_t* at, uint64_t bytes, int kind) {
        intact = intact && holds(at, bytes, guard_for(kind, d.key));
    });
    if (!intact) return TAMPERED;
    const void* const* first = sources + d.entries[0] * inputs_of(plan);
    const void* const* second = sources + d.entries[1] * inputs_of(plan);
    for (uint32_t i = 0, input = 0; i < plan.buffers; ++i) {
        const Buffer& buffer = plan.buffer[i];
        if (buffer.is_output) continue;
        const uint8_t* at = place_of(plan, arena, set, buffer);
        if (with_inputs && !is_input_intact(at, buffer, first[input], second[input], d.key + 1 + input)) return TAMPERED;
        ++input;
    }
    for (uint32_t i = 0; i < plan.buffers; ++i)
        if (plan.buffer[i].is_output &&
            has_poison(place_of(plan, arena, set, plan.buffer[i]), plan.buffer[i], d.key + i, mix(d.key)))
            return UNWRITTEN;
    return FINE;
}

void fill_set(const Plan& plan, uint8_t* arena, uint32_t set, const void* const* sources, const Draw& d) {
    const void* const* first = sources + d.entries[0] * inputs_of(plan);
    const void* const* second = sources + d.entries[1] * inputs_of(plan);
    for_guards(plan, arena, set, [&](uint8_t* at, uint64_t bytes, int kind) {
        spread(at, bytes, guard_for(kind, d.key));
    });
    for (uint32_t i = 0, input = 0; i < plan.buffers; ++i) {
        const Buffer& buffer = plan.buffer[i];
        uint8_t* at = place_of(plan, arena, set, buffer);
        if (buffer.is_output) spread(at, buffer.bytes, poison_for(buffer.element, d.key + i));
        else write_input(at, buffer, first[input], second[input], d.key + 1 + input), ++input;
    }
}

void write_call(const Side& side, const Plan& plan, uint32_t call, uint32_t set) {
    const uint32_t width = plan.buffers + plan.extents;
    int64_t arguments[MAX_BUFFERS + MAX_ARGUMENTS];
    for (uint32_t i = 0; i < plan.buffers; ++i) {
        const ptrdiff_t offset = place_of(plan, side.arena, set, plan.buffer[i]) - side.arena;
        arguments[i] = static_cast<int64_t>(side.base) + offset;
    }
    for (uint32_t i = 0; i < plan.extents; ++i) arguments[plan.buffers + i] = plan.extent[i];
    memcpy(side.arena + 8ull * width * call, arguments, 8ull * width);
}

void wait_at_most(int fd, int64_t ns) {
    const int64_t us = std::max<int64_t>(ns / 1000, 1000);
    timeval limit{us / 1000000, us % 1000000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

// Sends an order and waits for its answer. Messages that are waiting before the order was given were not asked for.
Outcome exchange(const Own& own, Side& side, uint32_t kind, uint64_t count, uint64_t dirty, Sample& sample) {
    Message message{};
    if (recv(side.work, &message, sizeof message, MSG_DONTWAIT) > 0) return FORGED;
    Message order{kind, ++side.sequence, count, dirty, {}};
    const int64_t cpu_before = cpu_ns_of(side.process);
    sample.idle_ns = side.cpu_ns >= 0 && cpu_before >= 0 ? cpu_before - side.cpu_ns : 0;
    const int64_t delay_before = delay_ns_of(side.schedstat) + own.delay_ns();
    const int64_t start = now_ns();
    if (send(side.work, &order, sizeof order, MSG_NOSIGNAL) < 0) return GONE;
    ssize_t length;
    for (int64_t net = 0;;) {
        wait_at_most(side.work, side.limit_ns - side.busy_ns - net);
        length = recv(side.work, &message, sizeof message, 0);
        sample.wall_ns = now_ns() - start;
        side.cpu_ns = cpu_ns_of(side.process);
        sample.cpu_ns = side.cpu_ns - cpu_before;
        sample.delay_ns = delay_ns_of(side.schedstat) + own.delay_ns() - delay_before;
        if (length >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) break;
        net = std::max(sample.wall_ns - sample.delay_ns, sample.cpu_ns);
        if (side.busy_ns + net >= side.limit_ns) return TIMED_OUT;
        if (sample.wall_ns > 10 * side.limit_ns) return STARVED;
    }
    side.busy_ns += std::max(sample.wall_ns - sample.delay_ns, sample.cpu_ns);
    if (length < 0) return GONE;
    if (length == 0) return GONE;
    if (length != sizeof message || message.sequence != side.sequence) return FORGED;
    side.float_state = message.value;
    side.told = message.kind;
    if (message.kind == DONE || message.kind == LOADED) return FINE;
    memcpy(side.text, message.text, sizeof side.text);
    side.text[sizeof side.text - 1] = 0;
    return message.kind == NO_LOAD || message.kind == NO_MEMORY || message.kind == THROWN ? TOLD : FORGED;
}

void pin_all(int32_t process, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR* folder = opendir(path);
    if (!folder) return;
    while (dirent* entry = readdir(folder))
        if (int thread = atoi(entry->d_name)) sched_setaffinity(thread, sizeof set, &set);
    closedir(folder);
}

// ---- timing -------------------------------------------------------------------------------------------

// The same for both sides of a pair, never the same twice: no stored answer fits, whatever it is stored by.
Draw draw(const Timing& timing, uint64_t seed, uint32_t trip, uint32_t set) {
    Draw d;
    d.key = mix(mix(seed + trip) + set);
    const uint64_t random = mix(d.key);
    d.entries[0] = static_cast<uint32_t>(random % timing.entries);
    d.entries[1] = static_cast<uint32_t>((d.entries[0] + 1 + (random >> 32) % (timing.entries - 1)) % timing.entries);
    return d;
}

void take(const Plan& plan, uint8_t* arena, uint32_t set, const Draw& d, Judged& judged) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < plan.buffers; ++i) {
        if (!plan.buffer[i].is_output) continue;
        memcpy(judged.outputs + at, place_of(plan, arena, set, plan.buffer[i]), plan.buffer[i].bytes);
        at += plan.buffer[i].bytes;
    }
    judged.draw = d;
    judged.taken = 1;
}

void flush_caches(const Timing& timing) {
    for (uint64_t i = 0; i < timing.flush_bytes; i += 64) ++timing.flush[i];
}

bool is_disturbed(const Timing& timing, const Sample& sample) {
    return timing.disagreement > 0 &&
           static_cast<double>(sample.delay_ns) > timing.disagreement * static_cast<double>(sample.wall_ns) + 5000.0;
}

// One round trip: fresh data in every set, the calls in a secret order, then a look at what came back.
Outcome one_trip(const Own& own, Timing& timing, Side& side, uint64_t seed, uint32_t pair, uint32_t trip, bool judge, Sample& sample) {
    const Plan& plan = *timing.plan;
    const uint32_t turn = static_cast<uint32_t>(mix(seed ^ (trip + 1)) % plan.sets);
    if (timing.flush) flush_caches(timing);
    for (uint32_t set = 0; set < plan.sets; ++set) {
        const Draw d = draw(timing, seed, trip, set);
        fill_set(plan, side.arena, set, timing.sources, d);
        write_call(side, plan, (set + turn) % plan.sets, set);
    }
    if (timing.flush) flush_caches(timing);
    Outcome outcome = exchange(own, side, CALL, plan.sets, 0, sample);
    if (outcome != FINE) return outcome;
    for (uint32_t i = 0; judge && i < timing.judged_count; ++i) {
        Judged& judged = timing.judged[i];
        if (judged.pair != pair || judged.trip != trip) continue;  // taken again with the trip: what counts is judged
        const uint32_t set = (judged.set + plan.sets - turn) % plan.sets;
        take(plan, side.arena, set, draw(timing, seed, trip, set), judged);
    }
    const bool with_inputs = trip == 0 || mix(seed ^ ~static_cast<uint64_t>(trip)) % 8 == 0;  // which is secret
    for (uint32_t set = 0; set < plan.sets && outcome == FINE; ++set) {
        outcome = inspect_set(plan, side.arena, set, timing.sources, draw(timing, seed, trip, set), with_inputs);
    }
    return outcome;
}

void move_on(Timing& timing, Side* const* sides) {
    if (timing.pinned == UINT32_MAX || timing.processor_count < 2) return;
    uint32_t at = 0;
    while (at < timing.processor_count && timing.processors[at] != static_cast<int32_t>(timing.pinned)) ++at;
    timing.pinned = static_cast<uint32_t>(timing.processors[(at + 1) % timing.processor_count]);
    for (int i = 0; i < 2; ++i) pin_all(sides[i]->process, static_cast<int>(timing.pinned));
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<int>(timing.pinned), &set);
    sched_setaffinity(0, sizeof set, &set);
}

Outcome one_sample(const Own& own, Timing& timing, Side* const* sides, int which, uint64_t seed, uint32_t pair,
                   uint32_t& in_a_row) {
    Sample sum{};
    for (uint32_t trip = 0; trip < timing.trips[which]; ++trip) {
        Sample sample{};
        for (int attempt = 0;; ++attempt) {
            const uint64_t fresh = seed + static_cast<uint64_t>(attempt) * 0x51ull;
            Outcome outcome = one_trip(own, timing, *sides[which], fresh, pair, trip, which == 0, sample);
            if (outcome != FINE) return outcome;
            sum.idle_ns += sample.idle_ns;  // of those, too, that are taken again
            if (!is_disturbed(timing, sample) || attempt == 2) break;
            ++timing.repeated;
            if (++in_a_row >= 3) move_on(timing, sides), in_a_row = 0;
        }
        sum.wall_ns += sample.wall_ns;
        sum.cpu_ns += sample.cpu_ns;
        sum.delay_ns += sample.delay_ns;
    }
    timing.samples[which][pair] = sum;
    return FINE;
}

// Median time of a round trip without calls: what a measurement costs by itself.
Outcome measure_overhead(const Own& own, Side& side, double& overhead_ns) {
    double found[9];
    for (double& each : found) {
        Sample sample;
        const Outcome outcome = exchange(own, side, CALL, 0, 0, sample);
        if (outcome != FINE) return outcome;
        each = static_cast<double>(std::max<int64_t>(sample.wall_ns - sample.delay_ns, 0));
    }
    std::nth_element(found, found + 4, found + 9);
    overhead_ns = found[4];
    return FINE;
}

}  // namespace

extern "C" {

// Waits for the first message on `fd`; the system says which process sent it. Returns its id, or 0.
int32_t kw_greet(int32_t fd, int64_t timeout_us, Side* side) {
    wait_at_most(fd, timeout_us * 1000);
    Message message{};
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = room;
    header.msg_controllen = sizeof room;
    ssize_t length;
    do length = recvmsg(fd, &header, 0);
    while (length < 0 && errno == EINTR);
    const int off = 0;
    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
    if (length != sizeof message) return 0;
    side->told = message.kind;
    side->base = message.value;
    memcpy(side->text, message.text, sizeof side->text);
    const cmsghdr* control = CMSG_FIRSTHDR(&header);
    if (!control || control->cmsg_type != SCM_CREDENTIALS) return 0;
    ucred credentials;
    memcpy(&credentials, CMSG_DATA(control), sizeof credentials);
    return credentials.pid;
}

// Writes an order to a pipe and waits for the first byte of its answer in another, or for its end. Returns the nanoseconds
// between, -1 when an answer lies there before it is asked for or the pipe is left full, so that nothing can be asked, and
// -2 when none comes in time. The clock runs here and not in the interpreter, whose other threads would be in the time.
int64_t kw_round_trip(int32_t send, int32_t receive, const void* order, uint64_t bytes, int64_t timeout_us) {
    pollfd answer{receive, POLLIN, 0};
    if (poll(&answer, 1, 0) > 0 && (answer.revents & POLLIN)) return -1;
    const int64_t start = now_ns();
    if (write(send, order, bytes) != static_cast<ssize_t>(bytes) && errno != EPIPE) return -1;
    while (true) {
        const int64_t left_ms = timeout_us / 1000 - (now_ns() - start) / 1000000;
        const int ready = poll(&answer, 1, static_cast<int>(std::max<int64_t>(left_ms, 0)));
        const int64_t taken = now_ns() - start;
        if (ready > 0) return taken;
        if (ready == 0 || errno != EINTR) return -2;
    }
}

int32_t kw_exchange(Side* side, uint32_t kind, uint64_t count, uint64_t dirty, Sample* sample) {
    return exchange(Own{}, *side, kind, count, dirty, *sample);
}

void kw_fill(const Side* side, const Plan* plan, uint32_t set, const void* const* sources, const Draw* d) {
    fill_set(*plan, side->arena, set, sources, *d);
}

// Prepares `count` calls, each of its own plan, and writes their argument lists in this order.
void kw_fill_all(const Side* side, const Plan* const* plans, const void* const* const* sources, const Draw* draws,
                 uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        fill_set(*plans[i], side->arena, 0, sources[i], draws[i]);
        write_call(*side, *plans[i], i, 0);
    }
}

// Looks at `count` calls; tells the worst that it finds, and where.
int32_t kw_inspect_all(const Side* side, const Plan* const* plans, const void* const* const* sources, const Draw* draws,
                       uint32_t count, uint32_t* where) {
    Outcome worst = FINE;
    for (uint32_t i = 0; i < count && worst != TAMPERED; ++i) {
        const Outcome outcome = inspect_set(*plans[i], side->arena, 0, sources[i], draws[i], true);
        if (outcome == TAMPERED || (outcome != FINE && worst == FINE)) worst = outcome, *where = i;
    }
    return worst;
}

// Writes the inputs that a call got into arrays of the parent's own.
void kw_inputs(const Plan* plan, const void* const* sources, const Draw* d, void* const* to) {
    const uint32_t inputs = inputs_of(*plan);
    for (uint32_t i = 0, input = 0; i < plan->buffers; ++i) {
        if (plan->buffer[i].is_output) continue;
        write_input(static_cast<uint8_t*>(to[input]), plan->buffer[i], sources[d->entries[0] * inputs + input],
                    sources[d->entries[1] * inputs + input], d->key + 1 + input);
        ++input;
    }
}

void kw_call(const Side* side, const Plan* plan, uint32_t call, uint32_t set) { write_call(*side, *plan, call, set); }

int32_t kw_inspect(const Side* side, const Plan* plan, uint32_t set, const void* const* sources, const Draw* d) {
    return inspect_set(*plan, side->arena, set, sources, *d, true);
}

// Opens the runner's schedstat file, after `process` is known.
void kw_watch(Side* side) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", side->process);
    side->schedstat = open(path, O_RDONLY | O_CLOEXEC);
}

void kw_forget(Side* side) {
    if (side->schedstat >= 0) close(side->schedstat);
    side->schedstat = -1;
}

void kw_pin(int32_t process, int32_t cpu) { pin_all(process, cpu); }

int64_t kw_cpu_ns(int32_t process) { return cpu_ns_of(process); }

// Takes up to `timing->pairs` pairs of samples, AB, BA, ...
int32_t kw_pairs(Timing* timing, Side* first, Side* second) {
    const Own own;
    Side* sides[2] = {first, second};
    const uint32_t wanted = std::exchange(timing->pairs, 0);
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    if (timing->pinned != UINT32_MAX) {
        CPU_ZERO(&one);
        CPU_SET(static_cast<int>(timing->pinned), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    Outcome outcome = FINE;
    uint32_t in_a_row = 0;
    int64_t others = 0, own_before = own.delay_ns();
    for (uint32_t which = 0; which < 2 && outcome == FINE; ++which) {
        outcome = measure_overhead(own, *sides[which], timing->overhead_ns[which]);
        timing->failed_side = which;
    }
    for (uint32_t pair = 0; pair < wanted && outcome == FINE; ++pair) {
        if (pair > 0 && now_ns() > timing->deadline_ns + others + own.delay_ns() - own_before) break;
        timing->seed = mix(timing->seed);
        const int lead = static_cast<int>((timing->seed >> 60) & 1u) ^ static_cast<int>(pair & 1u);
        for (int turn = 0; turn < 2 && outcome == FINE; ++turn) {
            const int which = lead ^ turn;
            const int64_t before = delay_ns_of(sides[which]->schedstat);
            outcome = one_sample(own, *timing, sides, which, timing->seed, pair, in_a_row);
            others += delay_ns_of(sides[which]->schedstat) - before;
            timing->failed_side = static_cast<uint32_t>(which);
        }
        if (outcome == FINE) timing->pairs = pair + 1;
    }
    timing->deadline_ns += others + own.delay_ns() - own_before;
    sched_setaffinity(0, sizeof before, &before);
    return outcome;
}

// ---- what the machine can do at most ------------------------------------------------------------------

typedef float Vector __attribute__((vector_size(64)));

// Fused multiply-adds that depend on nothing but themselves, in as many chains as hide their latency.
double kw_peak_flops(double seconds) {
    Vector chain[12];
    const Vector factor = Vector{} + 0.999999f, term = Vector{} + 1e-7f;
    for (Vector& each : chain) each = Vector{} + 1.0f;
    double best = 0;
    const int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
    do {
        const int64_t start = now_ns();
        for (int i = 0; i < 20000; ++i)
            for (Vector& each : chain) each = each * factor + term;
        asm volatile("" : : "r"(chain) : "memory");
        best = std::max(best, 20000.0 * 12 * 16 * 2 / (static_cast<double>(now_ns() - start) * 1e-9));
    } while (now_ns() < end);
    return best;
}

// Bytes read and written per second when `bytes` of memory are copied within themselves, again and again.
double kw_peak_bytes(uint64_t bytes, double seconds) {
    const uint64_t half = bytes / 2 / 64 * 64;
    uint8_t* memory = static_cast<uint8_t*>(aligned_alloc(64, 2 * half));
    if (!memory) return 0;
    memset(memory, 1, 2 * half);
    double best = 0;
    const int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
    do {
        const int64_t start = now_ns();
        uint64_t copied = 0;
        for (; copied < (1u << 22); copied += half) {
            memcpy(memory + half, memory, half);
            asm volatile("" : : "r"(memory) : "memory");
        }
        best = std::max(best, 2.0 * static_cast<double>(copied) / (static_cast<double>(now_ns() - start) * 1e-9));
    } while (now_ns() < end);
    free(memory);
    return best;
}

}  // extern "C"
