"""Sum of every row, one thread a row."""

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass.cute.runtime import from_dlpack

THREADS = 128


@cute.kernel
def sum_rows(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = block * THREADS + thread
    M, N = x.shape
    if row < M:
        total = cutlass.Float32(0.0)
        for j in range(N):
            total += x[row, j]
        y[row] = total


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, stream: CUstream):
    blocks = (x.shape[0] + THREADS - 1) // THREADS
    sum_rows(x, y).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


def kernel_fn(x):
    y = torch.empty((x.shape[0],), dtype=x.dtype, device=x.device)
    launch(from_dlpack(x), from_dlpack(y), CUstream(torch.cuda.current_stream().cuda_stream))
    return y
