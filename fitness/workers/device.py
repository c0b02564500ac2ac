"""Runs one candidate on a GPU, or in an interpreter on the CPU, at its parent's word.

Started by path as ``python -I device.py``; standard input and output are pipes to its parent, and are
moved away before anything else can write to them.

A message is an 8-byte length, JSON of that length, and the raw bytes of the arrays that the JSON
declares under ``arrays`` (name, dtype, shape). The parent sends inputs call by call and never an
expected value; this process returns outputs and times, and judges nothing. One process serves
warm-up of the libraries, then exactly one candidate.

Commands: ``probe`` (facts of the device), ``ping`` (nothing but an answer), ``peaks`` (measured bandwidth
and arithmetic; these three only before a candidate is loaded), ``load``, ``call`` (fresh inputs, outputs
back), ``pool`` (inputs kept on the device), ``time`` (events around every call, caches flushed before each),
``train`` (captures many calls in a CUDA graph, where that can be done), ``replay`` (new inputs for them) and ``go``
(makes them, so that the parent's own clock can bound what the events claim), ``outputs`` (parts of what a judged call
of the last ``time`` gave, or a call of a train), ``forget`` (what ``pool`` and ``train`` keep).

Torch's dtype of a NumPy array decides the dtype of a tensor; bfloat16 travels as uint16.
"""

import collections
import ctypes
import gc
import importlib.util
import json
import os
import struct
import sys
import time

GUARD = 256  # elements on both sides of every tensor that this process owns
LARGE_BYTES = 10 << 20  # from which on torch's allocator gives a tensor pages of its own
PAGE_BYTES = 2 << 20
PATTERN = 0x5A
HOLD_CYCLES = 150_000  # 76 µs on an H200
LAUNCHES_TOGETHER = 4  # what a call takes depends on which of so many in turn it is
ALIGNMENT = 256  # of arrays that are moved together
PERSISTING_L2_CACHE_SIZE = 0x06  # a CUlimit


class Pipes:
    """The two ends towards the parent."""

    def __init__(self, receive, send):
        """Takes over the descriptors."""
        self.receive, self.send = receive, send

    def read(self):
        """Returns the next message and its arrays, or None when the parent is gone."""
        import numpy

        head = bytearray(8)
        if not self._fill(head):
            return None
        text = bytearray(struct.unpack("<Q", head)[0])
        self._fill(text)
        message = json.loads(text)
        arrays = {}
        for spec in message.get("arrays", ()):
            count = 1
            for extent in spec["shape"]:
                count *= extent
            array = numpy.empty(count, spec["dtype"])
            self._fill(array.view(numpy.uint8))
            arrays[spec["name"]] = array.reshape(spec["shape"])
        return message, arrays

    def write(self, message, arrays=None):
        """Sends a message with its arrays."""
        arrays = arrays or {}
        declared = [{"name": n, "dtype": str(a.dtype), "shape": list(a.shape)} for n, a in arrays.items()]
        head = json.dumps({**message, "arrays": declared}).encode()
        os_write_all(self.send, struct.pack("<Q", len(head)) + head)
        for array in arrays.values():
            os_write_all(self.send, memoryview(array).cast("B") if array.size else b"")

    def _fill(self, buffer):
        """Reads as many bytes as ``buffer`` holds; returns whether they came."""
        view, at = memoryview(buffer), 0
        while at < len(view):
            piece = os.readv(self.receive, [view[at:]])
            if not piece:
                return False
            at += piece
        return True


def os_write_all(descriptor, data):
    """Writes all of ``data``."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Device:
    """What the commands need of torch, for a GPU or for the interpreter on a CPU."""

    def __init__(self):
        """Imports torch and wakes the device up."""
        import torch

        self.torch = torch
        self.name = os.environ.get("KERNELWRIGHT_DEVICE", "cuda")
        self.gpu = self.name != "cpu"
        self.flush_buffer = None
        self.driver = None
        if self.gpu:
            torch.cuda.init()
            torch.zeros(1, device=self.name)
            self.driver = ctypes.CDLL("libcuda.so.1") if torch.version.cuda else None
        self.reserved = self.reserve_nothing()
        self.strict()
        if self.gpu:
            self.load_kernels()
            self.meet_triton()

    def load_kernels(self):
        """Uses once what a candidate's calls need: a GPU loads each of torch's kernels at its first use.

        Workers wait ready before there is a candidate, so nobody waits for this; but all share one driver, so it is
        done for the types of the task alone.
        """
        torch = self.torch
        for dtype in (getattr(torch, name) for name in os.environ.get("KERNELWRIGHT_DTYPES", "float32").split(",")):
            holder = Owned(self, dtype, [4, 8])
            holder.tensor.copy_(torch.ones(4, 8, dtype=dtype))
            copy = torch.cat([holder.tensor, holder.tensor])[1:5].clone(memory_format=torch.contiguous_format)
            if dtype.is_floating_point:
                torch.mul(copy, holder.tensor[0], out=copy).fill_(float("nan"))
            copy.cpu()
            torch.stack([self.intact(holder), (holder.bytes == holder.bytes).all()]).tolist()
        torch.full((16,), float("nan"), device=self.name)
        self.hold()
        self.flush()
        self.event().record(self.stream())
        self.synchronize()

    def meet_triton(self):
        """Lets Triton find its driver and its device, which it would do at a candidate's first launch."""
        if importlib.util.find_spec("triton"):
            from triton.runtime import driver

            driver.active.get_current_target()

    def strict(self):
        """Sets every switch that trades precision for speed to what the task declares: none."""
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.set_default_dtype(torch.float32)

    def synchronize(self):
        """Waits for everything on the device, whatever stream it is on."""
        if self.gpu:
            self.torch.cuda.synchronize()

    def event(self):
        """Returns what marks a point in the device's order of work when it is recorded."""
        return self.torch.cuda.Event(enable_timing=True) if self.gpu else CpuEvent()

    def stream(self):
        """Returns torch's stream; the device's number spares torch a look at where it is, 10 µs each time."""
        return self.torch.cuda.current_stream(0) if self.gpu else None

    def intact(self, *holders):
        """Returns a tensor that tells whether all guards around some tensors are as they were."""
        return (self.torch.cat([guard for holder in holders for guard in holder.guards()]) == PATTERN).all()

    def hold(self, times=1):
        """Keeps a GPU busy for as many times `HOLD_CYCLES`: launching gets ahead of it."""
        if self.gpu:
            self.torch.cuda._sleep(times * HOLD_CYCLES)

    def launch_nothing(self, times):
        """Launches as many kernels that do nothing."""
        if self.gpu:
            for _ in range(times):
                self.torch.cuda._sleep(1)

    def flush(self):
        """Writes a buffer of twice the L2 cache."""
        if self.reserved:  # what persists is displaced only once it is told to be ordinary again
            self.driver.cuCtxResetPersistingL2Cache()
        if self.flush_buffer is None:
            size = 2 * self.torch.cuda.get_device_properties(0).L2_cache_size
            self.flush_buffer = self.torch.empty(size, dtype=self.torch.int8, device=self.name)
        self.flush_buffer.zero_()

    def memory_bytes(self):
        """Returns how much memory a GPU has, 0 without one."""
        return self.torch.cuda.get_device_properties(0).total_memory if self.gpu else 0

    def holds_work(self, graph):
        """Whether there is anything in a captured graph; assumed where it cannot be asked."""
        count = ctypes.c_size_t()
        if self.driver is None or self.driver.cuGraphGetNodes(
            ctypes.c_void_p(graph.raw_cuda_graph()), None, ctypes.byref(count)
        ):
            return True
        return count.value > 0

    def reserved_bytes(self):
        """Returns how much of the L2 cache is set aside for data that a flush does not displace."""
        size = ctypes.c_size_t()
        if self.driver is None or self.driver.cuCtxGetLimit(ctypes.byref(size), PERSISTING_L2_CACHE_SIZE) != 0:
            return 0  # not every GPU has that limit
        return size.value

    def reserve_nothing(self):
        """Gives the whole L2 cache to ordinary data; returns what stays set aside all the same.

        A context starts with a part set aside on some GPUs (an H200 does), so that not being zero proves nothing.
        """
        if self.driver is not None:
            self.driver.cuCtxSetLimit(PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(0))
        return self.reserved_bytes()

    def facts(self):
        """Returns what the device and its libraries are."""
        torch = self.torch
        facts = {"torch": torch.__version__}
        triton = importlib.util.find_spec("triton")
        if triton:
            from importlib.metadata import version

            facts["triton"] = version("triton")
        if self.gpu:
            p = torch.cuda.get_device_properties(0)
            facts |= {"device": p.name, "multiprocessors": p.multi_processor_count, "memory_bytes": p.total_memory}
            facts |= {"l2_bytes": p.L2_cache_size, "hip": torch.version.hip or "", "cuda": torch.version.cuda or ""}
            facts["arch"] = (
                getattr(p, "gcnArchName", "").split(":")[0] if torch.version.hip else f"sm_{p.major}{p.minor}"
            )
        return facts

    def peaks(self):
        """Measures bandwidth (copy) and arithmetic (matrix products of every precision) in units a second."""
        torch = self.torch
        source = torch.empty(1 << 30, dtype=torch.int8, device=self.name)
        target = torch.empty_like(source)
        peaks = {"bytes_per_s": 2 * source.numel() / self._best(lambda: target.copy_(source))}
        a = torch.randn(8192, 8192, device=self.name)
        torch.backends.cuda.matmul.allow_tf32 = True
        for dtype in (torch.float32, torch.float16):
            m = a.to(dtype)
            peaks[f"flops_per_s_{str(dtype).removeprefix('torch.')}"] = 2 * 8192**3 / self._best(lambda m=m: m @ m)
        self.strict()
        return peaks

    def _best(self, work, repeats=12):
        times = []
        for _ in range(repeats):
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / 1e3)
        return min(times)


class CpuEvent:
    """The CPU's clock in the place of a GPU's event: work is done when its call returns."""

    def record(self, stream):
        """Takes the time."""
        self.at_s = time.perf_counter()

    def query(self):
        """Whether a device has come to it; a CPU never gets there before the host has launched what follows."""
        return False

    def elapsed_time(self, later):
        """Returns milliseconds."""
        return (later.at_s - self.at_s) * 1e3


class Owned:
    """A tensor with guard zones on both sides, owned by this process."""

    def __init__(self, device, dtype, shape):
        """Allocates the tensor and its guards."""
        torch = device.torch
        count = 1
        for extent in shape:
            count *= extent
        before = elements_before(count, dtype.itemsize)
        self.buffer = torch.empty(before + count + GUARD, dtype=dtype, device=device.name)
        self.bytes = self.buffer.view(torch.uint8)
        self.tensor = self.buffer[before : before + count].view(shape)
        self.poison()

    def refill(self, source):
        """Writes other values, and the guards again."""
        self.poison()
        self.tensor.copy_(source)

    def poison(self):
        """Fills the tensor with NaN (integers: a pattern) and resets the guards."""
        self.bytes.fill_(PATTERN)
        if self.buffer.dtype.is_floating_point:
            self.tensor.fill_(float("nan"))

    def guards(self):
        """Returns the bytes before the tensor and those behind it."""
        edge = GUARD * self.buffer.element_size()
        begin, end = self.tensor.storage_offset() * self.buffer.element_size(), self.bytes.numel() - edge
        return self.bytes[begin - edge : begin], self.bytes[end:]


def elements_before(count, itemsize):
    """Returns how many elements lie in memory before an owned tensor: its guard, and what aligns it as torch would.

    Where a kernel's inputs and outputs lie in their pages makes half a percent on an H200: they lie as users' will.
    """
    return PAGE_BYTES // itemsize if count * itemsize >= LARGE_BYTES else GUARD


def lent(tensors):
    """Returns tensors in the same memory for one call: who is given one can make something else of it.

    What is written into it next would then be written in a type, or in an order, that makes the next call's work less.
    """
    return [tensor.detach() for tensor in tensors]


class Layout:
    """Where things lie in one piece of memory; numbers of any type may begin there."""

    def __init__(self):
        """Starts with nothing."""
        self.size = 0

    def take(self, count):
        """Returns a slice of as many bytes."""
        at = self.size
        self.size += (count // ALIGNMENT + 1) * ALIGNMENT  # also for what is empty: no type can be seen in no memory
        return slice(at, at + count)


class Launches:
    """Launches of Triton kernels: whether there were any, and whether they have an effect."""

    def __init__(self, gpu):
        """Puts itself in front of every launch from now on."""
        if gpu:
            from triton.runtime.jit import JITFunction as Launched
        else:
            from triton.runtime.interpreter import InterpretedFunction as Launched
        self.seen, self.muted, run = False, False, Launched.run

        def counted(function, *args, **kwargs):
            self.seen = True
            return None if self.muted else run(function, *args, **kwargs)

        Launched.run = counted


class Candidate:
    """A loaded kernel, called in one of two ways: ``fn(*inputs)`` or through pointers."""

    def __init__(self, device, manifest):
        """Loads it; its code runs from here on."""
        self.device = device
        self.specs = manifest["outputs"]
        self.axes = manifest["axes"]
        self.pointers = manifest["kind"] == "shared_object"
        self.launches = None
        if self.pointers:
            self.function = getattr(
                ctypes.CDLL(os.path.abspath(manifest["path"]), mode=os.RTLD_NOW), manifest["entry_point"]
            )
            self.function.restype = None
        else:
            self.launches = Launches(device.gpu) if importlib.util.find_spec("triton") else None
            spec = importlib.util.spec_from_file_location("candidate", manifest["path"])
            module = importlib.util.module_from_spec(spec)
            sys.modules["candidate"] = module
            spec.loader.exec_module(module)
            self.function = getattr(module, manifest["entry_point"])

    def outputs(self, axes):
        """Returns poisoned tensors for a kernel that is given its outputs; None for one that makes them."""
        return [Owned(self.device, *form) for form in self.forms(axes)] if self.pointers else None

    def forms(self, axes):
        """Returns the declared dtype and shape of each output."""
        dtypes = (getattr(self.device.torch, spec["dtype"]) for spec in self.specs)
        shapes = ([e if isinstance(e, int) else axes[e] for e in spec["shape"]] for spec in self.specs)
        return list(zip(dtypes, shapes, strict=True))

    def call(self, inputs, outputs, axes):
        """Calls the kernel; returns its outputs, whoever made them."""
        if not self.pointers:
            made = self.function(*inputs)
            return list(made) if isinstance(made, tuple | list) else [made]
        arguments = [ctypes.c_void_p(t.data_ptr()) for t in [*inputs, *(o.tensor for o in outputs)]]
        arguments += [ctypes.c_long(axes[name]) for name in self.axes]
        stream = self.device.stream()
        self.function(*arguments, ctypes.c_void_p(stream.cuda_stream if stream else 0))
        return [output.tensor for output in outputs]


class Session:
    """Answers commands about one candidate."""

    def __init__(self, pipes, device):
        """Starts without a candidate."""
        self.pipes, self.device, self.candidate, self.judged = pipes, device, None, {}
        self.pools, self.sources, self.steady, self.factors = {}, {}, {}, {}
        self.places, self.recent, self.trains = {}, {}, {}
        self.events = []  # pairs, for as many calls as a block has had: making them takes longer than recording them
        self.timed = 0  # calls

    def load(self, message, arrays):
        """Loads the candidate."""
        started = time.perf_counter()
        self.candidate = Candidate(self.device, message)
        return {"seconds": time.perf_counter() - started}, {}

    def call(self, message, arrays):
        """Makes calls, each with its axes and one of the sets of inputs; poisons before each what it may reuse.

        The device is waited for once: where many processes share it, each wait costs as much as many calls.
        """
        facts = {"forms": [], "tampered": [], "aliased": False, "seconds": []}
        sent, buffers, claims, left, results = self.upload(arrays), {}, {}, {}, {}
        for turn, (axes, number) in enumerate(message["calls"]):
            given = {key.rpartition("@")[0]: sent[key] for key in sent if key.endswith(f"@{number}")}
            form = tuple(axes.items())
            if form not in buffers:  # calls of one size find other data in the same places
                buffers[form] = {name: self.owned(tensor) for name, tensor in given.items()}
            for name, tensor in given.items():
                buffers[form][name].refill(tensor)
            inputs = lent(holder.tensor for holder in buffers[form].values())
            outputs = self.candidate.outputs(axes)
            self.dirty_allocator(turn)
            started = time.perf_counter()
            made = self.candidate.call(inputs, outputs, axes)
            # Copied on the candidate's own stream, before anything waits for other streams.
            copies = [self.plain(each, facts) for each in made]
            facts["seconds"].append(time.perf_counter() - started)
            storages = {holder.buffer.untyped_storage().data_ptr() for holder in buffers[form].values()}
            own = [each for each in made if self.storage(each) not in storages]
            facts["aliased"] |= len(own) < len(made)
            named = zip(self.names(len(made)), copies, strict=True)
            results |= {f"{name}@{turn}": copy for name, copy in named if copy is not None}
            self.poison_made(own)
            for name, holder in buffers[form].items():
                claims[turn, f"memory around input {name} overwritten"] = self.device.intact(holder)
                left[turn, name] = f"{name}@{number}", holder.tensor.clone()
            for at, output in enumerate(outputs or ()):
                claims[turn, f"memory around output {at} overwritten"] = self.device.intact(output)
        self.device.synchronize()
        again = self.upload(arrays)
        claims |= {(turn, f"input {n} changed"): self.same_bytes(again[k], t) for (turn, n), (k, t) in left.items()}
        facts["tampered"] = sorted({claim for _, claim in self.refuted(claims)})
        if self.candidate.launches is not None and "cutlass" not in sys.modules and "flydsl" not in sys.modules:
            facts["launched"] = self.candidate.launches.seen
        brought = self.download(results)
        for copy in results.values():  # kernels that do nothing, as in `mute`, must find no answer in free memory
            copy.reshape(-1).view(self.device.torch.uint8).fill_(PATTERN)
        return facts, brought

    def owned(self, tensor):
        """Returns a guarded copy."""
        holder = Owned(self.device, tensor.dtype, list(tensor.shape))
        holder.refill(tensor)
        return holder

    def upload(self, arrays):
        """Returns tensors on the device that hold ``arrays``, by name; all go there in one piece."""
        import numpy

        torch, layout = self.device.torch, Layout()
        spans = {name: layout.take(array.nbytes) for name, array in arrays.items()}
        piece = numpy.empty(layout.size, numpy.uint8)
        for name, array in arrays.items():
            piece[spans[name]] = array.reshape(-1).view(numpy.uint8)
        there = torch.from_numpy(piece).to(self.device.name, non_blocking=True)
        dtypes = {name: torch.from_numpy(array.reshape(-1)[:0]).dtype for name, array in arrays.items()}
        return {name: there[spans[name]].view(dtypes[name]).view(array.shape) for name, array in arrays.items()}

    def download(self, tensors):
        """Returns arrays that hold ``tensors``, by name; all come in one piece."""
        torch, layout = self.device.torch, Layout()
        spans = {name: layout.take(tensor.numel() * tensor.element_size()) for name, tensor in tensors.items()}
        there = torch.empty(layout.size, dtype=torch.uint8, device=self.device.name)
        for name, tensor in tensors.items():
            there[spans[name]].copy_(tensor.reshape(-1).view(torch.uint8))
        piece = there.cpu().numpy()
        if self.device.gpu:  # else it is the very memory
            there.fill_(PATTERN)
        dtypes = {name: torch.empty(0, dtype=tensor.dtype).numpy().dtype for name, tensor in tensors.items()}
        return {n: piece[spans[n]].view(dtypes[n]).reshape(tuple(t.shape)) for n, t in tensors.items()}

    def mute(self, message, arrays):
        """The same as `call`, with launches that do nothing: who is right now has no use for its kernels."""
        launches = self.candidate.launches
        launches.muted = True
        try:
            return self.call(message, arrays)
        except Exception:  # noqa: BLE001  # it may well stumble over what its kernels did not write
            return {"stumbled": True}, {}
        finally:
            launches.muted = False

    def names(self, count):
        """Returns the declared names of outputs; surplus outputs get a number."""
        declared = [spec["name"] for spec in self.candidate.specs]
        return [declared[i] if i < len(declared) else f"surplus{i}" for i in range(count)]

    def plain(self, value, facts):
        """Returns a copy of a plain tensor in memory of this process; what is not plain is reported."""
        torch = self.device.torch
        form = {"type": type(value).__name__, "plain": self.is_plain(value)}
        facts["forms"].append(form)
        if not form["plain"]:
            return None
        form |= {
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "elsewhere": value.device.type != self.device.name,
        }
        if form["elsewhere"] or form["dtype"] not in {spec["dtype"] for spec in self.candidate.specs}:
            return None  # it is refused for that, and NumPy may not have such numbers
        copy = value.detach().clone(memory_format=torch.contiguous_format)
        return copy.view(torch.uint16) if copy.dtype is torch.bfloat16 else copy

    def is_plain(self, value):
        """Whether a value is a tensor of numbers that lie in memory one by one, and nothing else."""
        torch = self.device.torch
        if type(value) is not torch.Tensor or getattr(value, "__dict__", None):
            return False
        return value.layout is torch.strided and not value.is_nested and not value.is_quantized

    def storage(self, value):
        """Returns where the storage of a tensor begins, or None."""
        return value.untyped_storage().data_ptr() if self.is_plain(value) else None

    def same_bytes(self, *two):
        """Returns a tensor that tells whether two tensors hold the same."""
        torch = self.device.torch
        one, other = (each.contiguous().reshape(-1).view(torch.uint8) for each in two)
        if one.numel() != other.numel():
            return torch.zeros((), dtype=torch.bool, device=self.device.name)
        return (one == other).all()

    def refuted(self, claims):
        """Returns which of some claims, each with a tensor of its truth, do not hold; the device is asked once."""
        truths = self.device.torch.stack(list(claims.values())).tolist() if claims else []
        return [claim for claim, truth in zip(claims, truths, strict=True) if not truth]

    def poison_made(self, made):
        """Fills outputs that the candidate made, so that freed memory never holds an answer."""
        for value in made:
            if self.is_plain(value) and value.is_floating_point():
                value.detach().fill_(float("nan"))

    def dirty_allocator(self, turn):
        """Leaves different garbage in free memory on every turn: uninitialised reads then differ."""
        torch = self.device.torch
        for size in (1 << 12, 1 << 16, 1 << 20):
            torch.full((size,), float("nan") if turn % 2 else 1e30 * (turn + 1), device=self.device.name)

    def pool(self, message, arrays):
        """Keeps inputs on the device under a name, for `time` and `train`; notes which have one factor in common.

        Rows that will be rolled are kept twice, one copy behind the other, so that it takes no time: on an H200 rolling
        32 MiB takes 42 µs, nearly as long as the kernel that waits for them. Large inputs are not: memory is dear.
        """
        torch, name = self.device.torch, message["name"]
        factors, *tensors = (
            torch.from_numpy(array).to(self.device.name) for array in (arrays.pop("factors@"), *arrays.values())
        )
        self.steady[name] = [each in message["steady"] for each in arrays]
        self.sources[name] = [
            each if (is_steady and each.dim() < 2) or each.nbytes > message["twice_bytes"] else torch.cat([each, each])
            for each, is_steady in zip(tensors, self.steady[name], strict=True)
        ]
        pairs = zip(self.sources[name], tensors, strict=True)
        self.pools[name] = [source.view(-1)[: each.numel()].view(each.shape) for source, each in pairs]
        floats = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
        self.factors[name] = {dtype: factors.to(dtype) for dtype in floats}
        return {}, {}

    def forget(self, message, arrays):
        """Gives up what `pool` and `train` kept."""
        for kept in (self.pools, self.sources, self.steady, self.factors, self.places, self.recent, self.trains):
            kept.clear()
        return {}, {}

    def places_for(self, axes, like, count):
        """Returns guarded inputs like some, in each place that timed calls of these sizes may find theirs.

        And outputs of the last calls, which keep theirs: the next call gets memory elsewhere for its own. They are as
        many as there are places, so those of outputs, one more, meet those of inputs in every combination.
        """
        key = tuple(axes.items())
        if key not in self.places:
            self.places[key] = [[self.owned(tensor) for tensor in like] for _ in range(count)]
            self.recent[key] = collections.deque(maxlen=count)
            self.memory_of_outputs(axes, count + 2)  # beside the last calls': the next one's, and a judged copy
        return self.places[key], self.recent[key]

    def memory_of_outputs(self, axes, count):
        """Returns memory for the outputs of as many calls; the allocator keeps it for them when it is given up.

        To ask the driver takes long while others wake the device: a rehearsal has time for that, a timing slot has not.
        """
        if self.candidate.pointers:
            return [self.candidate.outputs(axes) for _ in range(count)]
        empty, name, forms = self.device.torch.empty, self.device.name, self.candidate.forms(axes)
        return [empty(shape, dtype=dtype, device=name) for _ in range(count) for dtype, shape in forms]

    def overwritten(self, places, recent):
        """Returns around which inputs and outputs of timed calls something was written."""
        sets = {"input": places, "output": [outputs for _, outputs in recent if outputs is not None]}
        claims = {
            f"memory around {what} {at} overwritten": self.device.intact(*holders)
            for what, rows in sets.items()
            for at, holders in enumerate(zip(*rows, strict=True))
        }
        return sorted(self.refuted(claims))

    def rolled(self, source, rows, by):
        """Returns rows in another order: where they are kept twice, those that lie in it in one piece."""
        if source.shape[0] == rows:
            return self.device.torch.roll(source, by, 0)
        return source.narrow(0, -by % max(1, rows), rows)

    def fill(self, tensors, variant):
        """Writes inputs that no call has seen: an entry of the pool, its rows rolled, times a factor a column."""
        entry, shift = variant["entry"], variant["shift"]
        for tensor, source, is_steady in zip(tensors, self.sources[entry], self.steady[entry], strict=True):
            shape = tensor.shape
            stays = is_steady and len(shape) < 2
            rolled = source if stays else self.rolled(source, shape[0], variant["roll"])
            if tensor.is_floating_point():
                factors = self.factors[entry][tensor.dtype]
                own = factors[shift] if is_steady else factors.narrow(0, shift, shape[-1])
                self.device.torch.mul(rolled, own, out=tensor)
            else:
                tensor.copy_(rolled)

    def time(self, message, arrays):
        """Times one call a variant, with flushed caches before each; keeps the outputs of the judged ones.

        A call of 52 µs takes up to 1 µs longer on an H200 by which of four launches in turn it is. Where calls come
        with a multiple of four launches, it would be the same one for a whole block. With none, one, two, three more
        before them each eight calls are each of the four twice, whatever a candidate launches.

        Tells how many calls had ended before the next was launched: nothing was queued behind them, which makes a
        percent of a short call's time, and the device may have waited for the next.
        """
        axes, variants = message["axes"], message["variants"]
        places, recent = self.places_for(axes, self.pools[variants[0]["entry"]], message["places"])
        while len(self.events) < len(variants):
            self.events.append((self.device.event(), self.device.event()))
        events, stream = self.events, self.device.stream
        self.judged, facts = {}, {"forms": [], "tampered": [], "late": 0}
        gc.disable()  # collecting takes as long as launching several calls; if one raises, this process ends
        self.device.hold(message["lead"])
        for i, variant in enumerate(variants):
            self.timed += 1
            own = [holder.tensor for holder in places[self.timed % len(places)]]
            outputs = self.candidate.outputs(axes)
            self.fill(own, variant)
            inputs = lent(own)
            if message["flush"]:
                self.device.flush()
            self.device.launch_nothing(self.timed % LAUNCHES_TOGETHER)
            events[i][0].record(stream())
            made = self.candidate.call(inputs, outputs, axes)
            events[i][1].record(stream())
            facts["late"] += i > 0 and events[i - 1][1].query()
            if variant["judged"]:
                self.judged[i] = [self.plain(value, facts) for value in made]
            self.poison_made(made)
            recent.append((made, outputs))
            if message["flush"] and self.device.reserved_bytes() != self.device.reserved:
                facts["tampered"].append("it reserves a part of the L2 cache, which no flush reaches")
                break
        gc.enable()
        self.device.synchronize()
        facts["tampered"] += self.overwritten(places, recent)
        facts["times_us"] = [start.elapsed_time(end) * 1e3 for start, end in events[: i + 1]]
        return facts, {}

    def outputs(self, message, arrays):
        """Returns parts of the outputs of a judged call: those that begin at ``starts``, else all of it."""
        if "train" not in message:
            return {}, self.parts(self.judged[message["index"]], message)
        facts = {"forms": []}
        copies = [self.plain(value, facts) for value in self.trains[message["train"]].made[message["index"]]]
        return facts, self.parts(copies, message)

    def parts(self, values, message):
        """Returns arrays of what the parent wants to see of some outputs.

        Bytes are put together by what puts guards together, too: to load torch's kernel that indexes takes 70 ms on an
        H200 at its first use, and that would be while others wait for the device.
        """
        torch = self.device.torch

        def part(value, starts):
            if starts is None:
                return value
            flat, size = value.reshape(-1).view(torch.uint8), value.itemsize
            pieces = [flat.narrow(0, start * size, message["length"] * size) for start in starts]
            return torch.cat(pieces).view(value.dtype)

        named = zip(self.names(len(values)), values, strict=True)
        return {f"{n}@0": part(v, message["starts"].get(n)).cpu().numpy() for n, v in named if v is not None}

    def profile(self, message, arrays):
        """Runs one call under torch's profiler; returns what ran on the device (without one: on the CPU), in µs."""
        from torch.profiler import ProfilerActivity, profile

        axes, variant = message["axes"], message["variant"]
        inputs = [self.device.torch.empty_like(tensor) for tensor in self.pools[variant["entry"]]]
        outputs = self.candidate.outputs(axes)
        self.fill(inputs, variant)
        self.device.synchronize()
        with profile(activities=[ProfilerActivity.CUDA if self.device.gpu else ProfilerActivity.CPU]) as seen:
            self.candidate.call(inputs, outputs, axes)
            self.device.synchronize()
        clock = "self_device_time_total" if self.device.gpu else "self_cpu_time_total"
        rows = [(row.key[:200], row.count, float(getattr(row, clock))) for row in seen.key_averages()]
        return {"rows": [{"name": name, "count": count, "us": us} for name, count, us in rows]}, {}

    def train(self, message, arrays):
        """Prepares as many calls as there are variants, to be made all at once; tells whether a graph holds them."""
        torch = self.device.torch
        sets = [[torch.empty_like(tensor) for tensor in self.pools[each["entry"]]] for each in message["variants"]]
        for tensors, variant in zip(sets, message["variants"], strict=True):
            self.fill(tensors, variant)
        train = self.trains[message["name"]] = Train(self.candidate, sets, message["axes"])
        if self.device.gpu:
            train.capture(self.device)
        return {"captured": train.graph is not None}, {}

    def replay(self, message, arrays):
        """Fills the inputs of a train anew, so that each call has to compute."""
        train = self.trains[message["name"]]
        for tensors, variant in zip(train.sets, message["variants"], strict=True):
            self.fill(tensors, variant)
        for values in train.made:
            self.poison_made(values)
        train.lend()
        self.device.synchronize()
        return {}, {}

    def go(self, message, arrays):
        """Makes the calls of a train, while the parent's clock runs."""
        self.trains[message["name"]].run()
        self.device.synchronize()
        return {}, {}


class Train:
    """Calls that are made all at once: replayed from a graph, or one by one where none holds them."""

    def __init__(self, candidate, sets, axes):
        """Takes the inputs of each call."""
        self.candidate, self.sets, self.axes = candidate, sets, axes
        self.owned = [candidate.outputs(axes) for _ in sets]
        self.graph, self.made = None, []
        self.lend()

    def lend(self):
        """Has ready what each call is given, which takes no time of the calls then."""
        self.inputs = [lent(tensors) for tensors in self.sets]

    def call(self):
        """Makes the calls; returns their outputs."""
        each = zip(self.inputs, self.owned, strict=True)
        return [self.candidate.call(inputs, outputs, self.axes) for inputs, outputs in each]

    def run(self):
        """Makes the calls, or has the graph make them."""
        if self.graph is None:
            self.made = self.call()
        else:
            self.graph.replay()

    def capture(self, device):
        """Captures the calls in a graph, unless they wait for the device or allocate in a way that none holds.

        Nor is it one if it holds nothing, as what runs on another stream than torch's does not come into it.
        """
        torch = device.torch
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.candidate.call(lent(self.sets[0]), self.owned[0], self.axes)
            torch.cuda.current_stream().wait_stream(side)
            device.synchronize()
            with torch.cuda.graph(graph):
                made = self.call()
            if device.holds_work(graph):
                graph.instantiate()
                self.graph, self.made = graph, made
        except RuntimeError:
            pass  # there is no graph then, and the calls are made one by one
        device.synchronize()


def serve(pipes):
    """Serves the parent until it closes its end."""
    device = Device()
    session = Session(pipes, device)
    pipes.write({"ready": True, "pid": os.getpid(), "memory_bytes": device.memory_bytes()})
    names = ["load", "call", "mute", "pool", "forget", "time", "outputs", "profile", "train", "replay", "go"]
    commands = {name: getattr(session, name) for name in names}
    while (received := pipes.read()) is not None:
        message, arrays = received
        if message["command"] == "probe":
            pipes.write({"facts": device.facts()})
            continue
        if message["command"] == "peaks":
            pipes.write({"peaks": device.peaks()})
            continue
        if message["command"] == "ping":
            device.synchronize()
            pipes.write({})
            continue
        try:
            reply, results = commands[message["command"]](message, arrays)
        except device.torch.OutOfMemoryError as error:
            pipes.write({"failed": "out_of_memory", "log": str(error)[-4000:]})
            return
        except BaseException as error:  # noqa: BLE001  # a candidate may raise SystemExit or worse
            import traceback

            log = traceback.format_exc()[-8000:]
            kind = "exited" if isinstance(error, SystemExit | KeyboardInterrupt) else "raised"
            if isinstance(error, MemoryError) or "DefaultCPUAllocator: can't allocate memory" in log:
                kind = "out_of_memory"
            pipes.write({"failed": kind, "log": log})
            return
        pipes.write(reply, results)


def main():
    """Serves as a program of its own: standard input and output are the pipes."""
    pipes = Pipes(os.dup(0), os.dup(1))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    serve(pipes)


if __name__ == "__main__":
    main()
