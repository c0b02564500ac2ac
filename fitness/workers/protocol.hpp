// What the trusted driver and the sandboxed runner say to each other over a SOCK_SEQPACKET pair.
// A runner in another language (a device worker in Python) speaks the same messages.
//
// Nothing that a runner says is believed: a reply only tells that it is time to look. Outputs, clocks, exit
// status and CPU time are all read by the driver itself, outside the runner's process.
#pragma once
#include <cstdint>

namespace kernelwright {

enum Order : uint32_t {
    LOAD = 1,  // load the artifact; sent only after the driver has noted the process id
    CALL = 2,  // call the kernel `value` times, with the argument lists at the start of the arena
    SEAL = 3,  // make `extra` bytes of the arena from offset `value` on read-only
};

enum Answer : uint32_t {
    HELLO = 1,      // from the init process, before anything untrusted is in memory
    READY = 2,      // confined, artifact not loaded; value = address of the arena in the runner
    LOADED = 3,     // the entry point is there
    DONE = 4,       // all calls returned; value = floating-point control word afterwards
    NO_LOAD = 5,    // the artifact cannot be loaded; text says why
    NO_MEMORY = 6,  // std::bad_alloc left the kernel
    THROWN = 7,     // another C++ exception left the kernel
    ENDED = 8,      // from the init process: value = wait status of the runner, extra = CPU time in us
};

struct Message {
    uint32_t kind;
    uint32_t sequence;
    uint64_t value;
    uint64_t extra;  // CALL: non-zero asks for a dirty stack and heap, with this byte
    char text[232];
};

constexpr int MAX_ARGUMENTS = 16;

}  // namespace kernelwright
