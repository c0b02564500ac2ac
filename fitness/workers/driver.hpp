// Structures that the parent fills in from Python (`fitness/native.py` mirrors them field by field).
#pragma once
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "protocol.hpp"

namespace kernelwright {

constexpr int MAX_BUFFERS = 12;

enum Element : uint32_t { RAW = 0, FLOAT32 = 1, FLOAT64 = 2 };

// How the input of a timed call is made from two entries of the pool.
enum Blend : uint32_t {
    WHOLE = 0,   // a copy of the first
    PICKED = 1,  // every element from one or the other, by a secret bit
    MEAN = 2,    // a secret convex combination: what is sorted stays sorted
};

// What `round` and `pairs` return. Negative: it is over with this runner.
enum Outcome : int32_t {
    FINE = 0,
    GONE = -1,      // the runner ended
    TIMED_OUT = -2,
    FORGED = -3,    // a message that no honest runner sends
    TAMPERED = -4,  // inputs changed or a guard zone overwritten
    UNWRITTEN = -5, // an output still holds its poison
    TOLD = -6,      // the runner reports NO_LOAD, NO_MEMORY or THROWN; see `Side::told`
    STARVED = -7,   // others had the processor for so long that nothing can be said
};

struct Buffer {
    uint64_t offset;  // from the start of its set, in the region of its kind
    uint64_t bytes;
    uint32_t is_output;
    uint32_t element;
    uint32_t blend;  // of an input of a timed call
    uint32_t reserved;
};

// How the sets of one workload lie in the arena: all inputs in one region, all outputs in another, so that the
// first can be sealed. What is in no buffer is guard zone. Buffers come in the order of the arguments, inputs first.
struct Plan {
    uint64_t origin[2];  // of the inputs, of the outputs
    uint64_t stride[2];
    uint32_t sets;
    uint32_t buffers;
    uint32_t extents;
    uint32_t reserved;
    Buffer buffer[MAX_BUFFERS];
    int64_t extent[MAX_ARGUMENTS];
};

// One runner, seen from outside.
struct Side {
    int32_t work;       // socket
    int32_t process;    // host process id, from the credentials that the system attaches
    uint8_t* arena;     // the parent's own mapping
    uint64_t base;      // address of the arena in the runner
    uint32_t sequence;
    uint32_t told;
    int64_t cpu_ns;     // CPU time of the runner when it last reported; -1 before
    int64_t busy_ns;    // how long the driver has waited for it, without what others had the processor
    int64_t limit_ns;   // no more of that than this
    int32_t schedstat;  // the runner's /proc file of that name; -1 where there is none
    int32_t reserved;
    uint64_t float_state;
    char text[232];
};

struct Sample {
    int64_t wall_ns;
    int64_t cpu_ns;    // of all threads of the runner
    int64_t delay_ns;  // of the wall time: the runner or the driver could have run, but others did
    int64_t idle_ns;   // CPU time that the runner used before, since its last answer, when it had nothing to do
};

// What a timed call gets: made of two entries of the pool, by a key that is used once.
struct Draw {
    uint32_t entries[2];
    uint64_t key;
};

// A call whose outputs are copied out for the judge.
struct Judged {
    uint32_t pair, trip, set;  // in: which one; `set` in the order of calling
    uint32_t taken;            // out
    Draw draw;                 // out: which inputs it had
    uint8_t* outputs;          // in: room for all outputs of a set
};

struct Timing {
    const Plan* plan;
    const void* const* sources;  // entry-major: pointers to the inputs of every pool entry
    uint32_t entries;
    uint32_t pairs;         // in: how many; out: how many were done
    uint32_t trips[2];      // round trips a sample, by side
    double overhead_ns[2];  // out: of an empty round trip, by side
    uint64_t seed;          // secret; advanced
    int64_t deadline_ns;    // CLOCK_MONOTONIC, no new pair after it; out: moved by how long others had the processor
    double disagreement;    // a round trip that was delayed by more than this fraction is taken again; 0: never
    uint8_t* flush;         // cold regime: a buffer larger than the last-level cache; else null
    uint64_t flush_bytes;
    uint32_t repeated;      // out: trips taken again because something else ran
    uint32_t failed_side;   // out
    Sample* samples[2];     // out: `pairs` each, summed over trips
    Judged* judged;         // of side 0
    uint32_t judged_count;
    uint32_t pinned;        // in/out: the processor that both runners and the driver share; UINT32_MAX for none
    const int32_t* processors;
    uint32_t processor_count;
    uint32_t reserved;
};

}  // namespace kernelwright
