// Runs the work-groups of a kernel that PoCL compiled, one after the other, as PoCL's own `basic` device does.
//
// A kernel comes as a function of one work-group. Its layout of arguments is PoCL 3's: every argument by its address,
// and after the declared ones the arrays that the kernel keeps in local memory.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

namespace kernelwright {

struct Context {
    size_t groups[3], offset[3], local[3];
    unsigned char* printed;
    unsigned* printed_bytes;
    unsigned printed_limit, dimensions;
    size_t reserved[8];
};
using WorkGroup = void(void** arguments, Context* context, size_t x, size_t y, size_t z);

constexpr int LOCAL_ARRAYS = 16;

struct Range {
    long size[3];
};

static void run(WorkGroup* kernel, const char* name, void** arguments, int dimensions, Range global, Range local) {
    unsigned printed = 0;
    Context context = {{}, {}, {}, nullptr, &printed, 0, static_cast<unsigned>(dimensions), {}};
    for (int i = 0; i < 3; ++i) {
        if (local.size[i] < 1 || global.size[i] < 0 || global.size[i] % local.size[i] != 0) {
            fprintf(stderr, "%s: global size %ld is no multiple of local size %ld\n", name, global.size[i], local.size[i]);
            abort();
        }
        context.local[i] = static_cast<size_t>(local.size[i]);
        context.groups[i] = static_cast<size_t>(global.size[i] / local.size[i]);
    }
    for (size_t z = 0; z < context.groups[2]; ++z)
        for (size_t y = 0; y < context.groups[1]; ++y)
            for (size_t x = 0; x < context.groups[0]; ++x) kernel(arguments, &context, x, y, z);
}

}  // namespace kernelwright
