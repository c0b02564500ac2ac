// Cooperative groups of one block, for simt.h: the block and its tiles of a power of two, with sums of these.
#pragma once
#include <type_traits>

namespace cooperative_groups {

struct thread_block {
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return kernelwright::block.current; }
    static unsigned size() { return kernelwright::block.threads; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

template <unsigned Size, class Parent = thread_block>
struct thread_block_tile {
    static_assert(Size <= warpSize && (Size & (Size - 1)) == 0, "tiles are parts of a warp here");
    static unsigned long long mask() { return (~0ull >> (64 - Size)) << kernelwright::lane() / Size * Size; }
    static void sync() { __syncwarp(mask()); }
    static unsigned thread_rank() { return kernelwright::lane() % Size; }
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned meta_group_rank() { return kernelwright::block.current / Size; }
    static unsigned meta_group_size() { return (kernelwright::block.threads + Size - 1) / Size; }
    template <class T> static T shfl(T value, int from) { return __shfl_sync(mask(), value, from, Size); }
    template <class T> static T shfl_down(T value, unsigned by) { return __shfl_down_sync(mask(), value, by, Size); }
    template <class T> static T shfl_up(T value, unsigned by) { return __shfl_up_sync(mask(), value, by, Size); }
    template <class T> static T shfl_xor(T value, unsigned bits) { return __shfl_xor_sync(mask(), value, int(bits), Size); }
    static int any(int predicate) { return __any_sync(mask(), predicate); }
    static int all(int predicate) { return __all_sync(mask(), predicate); }
    static unsigned long long ballot(int predicate) {
        return kernelwright_ballot(mask(), predicate) >> kernelwright::lane() / Size * Size;
    }
};
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
    return {};
}
template <class Group>
void sync(const Group& group) {
    group.sync();
}

template <class T> struct plus { T operator()(T x, T y) const { return x + y; } };
template <class T> struct less { T operator()(T x, T y) const { return y < x ? y : x; } };
template <class T> struct greater { T operator()(T x, T y) const { return x < y ? y : x; } };
template <class Group, class T, class Operation>
T reduce(const Group& group, T value, Operation operation) {
    for (unsigned bits = group.size() / 2; bits; bits /= 2) value = operation(value, group.shfl_xor(value, bits));
    return value;
}

}  // namespace cooperative_groups
