"""Runs the model of a KernelBench problem at its parent's word: what is foreign stays in this process.

Started in the sandbox as ``python -I kernelbench.py``, in a scratch folder with ``problem.py``. Messages are those of
`device`: JSON and raw arrays, nothing that is executed when it is read.

Commands: ``load`` (the problem, with other values for its size constants, if it fits into so many bytes of memory),
``draw`` (inputs and weights of a seed), ``run`` (the model in float64 on given arrays), ``time`` (the model in float32
as it is, or through ``torch.compile``).
"""

import ast
import importlib.util
import inspect
import json
import keyword
import math
import os
import pathlib
import random
import resource
import time
import traceback

CONSTANTS = (bool, int, float, str, type(None))
DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")


class TooLarge(Exception):
    """A problem takes more memory than there is."""


class Problem:
    """The problem in ``problem.py``."""

    def __init__(self, sizes, most_bytes):
        """Executes the source; module-level numbers called as in ``sizes`` get other values."""
        import torch

        self.torch = torch
        seeded(torch, 0)
        text = pathlib.Path("problem.py").read_text(encoding="utf-8")
        refuse_large(torch, text, sizes, most_bytes)
        self.module, self.source, _ = executed(text, sizes)
        missing = [name for name in ("Model", "get_inputs", "get_init_inputs") if name not in self.module]
        if missing:
            raise ValueError(f"the file defines no {missing[0]}: it is no KernelBench problem")
        self.arguments = self.names()

    def names(self):
        """Returns the names of the arguments of the model's call; what ``*`` and ``**`` take has none."""
        if not isinstance(self.module["Model"], type):
            raise ValueError("Model is no class")
        parameters = inspect.signature(self.module["Model"].forward).parameters.values()
        return [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)][1:]

    def listed(self, name):
        """Returns what ``get_inputs`` or ``get_init_inputs`` gives."""
        given = self.module[name]()
        if not isinstance(given, list | tuple):
            raise ValueError(f"{name} must return a list of arguments; it returns a {type(given).__name__}")
        return given

    def model(self):
        """Returns a new model."""
        return self.module["Model"](*self.listed("get_init_inputs"))

    def draw(self, seed):
        """Returns a new model and arguments; weights that a model starts with all alike vary a little."""
        torch = self.torch
        seeded(torch, seed)
        model, values = self.model(), self.listed("get_inputs")
        with torch.no_grad():
            for tensor in model.state_dict().values():
                if tensor.is_floating_point() and tensor.numel() and bool(tensor.min() == tensor.max()):
                    tensor.add_(0.1 * torch.randn_like(tensor))
        return model, values

    def split(self, model, values):
        """Returns tensors by the names that a kernel knows them by, and the arguments that are no tensors."""
        if len(values) > len(self.arguments):
            names = ", ".join(self.arguments) or "none"
            raise ValueError(f"get_inputs gives more values ({len(values)}) than forward has arguments ({names})")
        named = dict(zip(self.arguments, values, strict=False))
        tensors = {name: each for name, each in named.items() if self.torch.is_tensor(each)}
        constants = {name: each for name, each in named.items() if not self.torch.is_tensor(each)}
        for name, each in constants.items():
            if isinstance(each, float) and not math.isfinite(each):
                raise ValueError(f"argument {name} is {each}; only finite numbers are known")
            if not isinstance(each, CONSTANTS):
                raise ValueError(f"argument {name} is a {type(each).__name__}; only tensors and plain values are known")
        return {**tensors, **{self.spoken(key, tensors): each for key, each in self.state(model).items()}}, constants

    def state(self, model):
        """Returns the weights, and the buffers that the result depends on."""
        found = dict(model.named_parameters())
        return found | {name: each for name, each in model.named_buffers() if name in self.used_buffers}

    @staticmethod
    def spoken(key, taken):
        """Returns a weight's name as an identifier that no argument has."""
        name = key.replace(".", "_")
        return f"{name}_weight" if name in taken or keyword.iskeyword(name) else name

    def describe(self):
        """Returns what a kernel takes and gives."""
        self.used_buffers = frozenset()
        model, values = self.draw(1)
        buffers = {name: each.clone() for name, each in model.named_buffers()}
        outputs = self.outputs(model, values)
        self.used_buffers = self.buffers_that_matter(model, values, outputs, buffers)
        tensors, constants = self.split(model, values)
        if not tensors:
            raise ValueError("it computes from nothing: get_inputs gives no tensor, and the model has no weights")
        state = {self.spoken(key, dict.fromkeys(self.arguments)): key for key in self.state(model)}
        if clash := sorted(set(self.state(model)) - set(state.values())):
            raise ValueError(f"as an identifier, weight {clash[0]} has the name of another")
        forms = [
            {"name": name, "dtype": str(each.dtype).removeprefix("torch."), "shape": list(each.shape)}
            for name, each in (*tensors.items(), *outputs.items())
        ]
        self.refuse_unknown(forms, tensors, outputs)
        inputs, outputs = forms[: len(tensors)], forms[len(tensors) :]
        return {
            "inputs": inputs,
            "outputs": outputs,
            "constants": constants,
            "state": state,
            "calls": self.arguments,
            "source": self.source,
        }

    def refuse_unknown(self, forms, inputs, outputs):
        """Raises where a tensor is of no kind that kernels are judged on; masks may only go in."""
        for form, each in zip(forms, (*inputs.values(), *outputs.values()), strict=True):
            known = each.layout is self.torch.strided and each.numel() and form["dtype"] in DTYPES
            if not known and not (form["name"] in inputs and form["dtype"] == "bool"):
                told = f"{form['name']} is {str(each.layout).removeprefix('torch.')} {form['dtype']} {form['shape']}"
                raise ValueError(f"{told}; known are dense tensors with elements, of {', '.join(DTYPES)}")

    def buffers_that_matter(self, model, values, outputs, buffers):
        """Returns the names of those buffers whose values change the outputs; halves that do not are left at once."""
        if not buffers or not self.depend_on(model, values, outputs, buffers):
            return frozenset()
        if len(buffers) == 1:
            return frozenset(buffers)
        names = list(buffers)
        halves = (names[: len(names) // 2], names[len(names) // 2 :])
        parts = ({name: buffers[name] for name in half} for half in halves)
        return frozenset().union(*(self.buffers_that_matter(model, values, outputs, part) for part in parts))

    def depend_on(self, model, values, outputs, buffers):
        """Whether the outputs are others when all these buffers hold other values."""
        torch, own = self.torch, dict(model.named_buffers())
        with torch.no_grad():
            for step, (name, kept) in enumerate(buffers.items(), 1):
                other = kept + step + torch.rand_like(kept) if kept.is_floating_point() else kept + step
                own[name].copy_(~kept if kept.dtype == torch.bool else other)
            try:
                found = self.outputs(model, values)
            except (RuntimeError, IndexError):
                found = {}
            for name, kept in buffers.items():
                own[name].copy_(kept)
        return not found or any(not torch.equal(outputs[name], found[name]) for name in outputs)

    def outputs(self, model, values):
        """Calls a model; returns its results by name."""
        with self.torch.no_grad():
            made = model(*values)
        made = made if isinstance(made, tuple | list) else [made]
        if other := [type(each).__name__ for each in made if not self.torch.is_tensor(each)]:
            raise ValueError(f"the model returns a {other[0]}; known are a tensor and a list or tuple of tensors")
        if not made:
            raise ValueError("the model returns no tensor at all")
        names = ["out"] if len(made) == 1 else [f"out{i}" for i in range(len(made))]
        taken = {*self.arguments, *(self.spoken(key, ()) for key in model.state_dict())}
        return {name if name not in taken else f"{name}_": each for name, each in zip(names, made, strict=True)}

    def run(self, arrays, constants):
        """Returns the results of the model in float64 on given arrays."""
        torch = self.torch
        tensors = {name: torch.from_numpy(each.copy()) for name, each in arrays.items()}
        wide = {name: each.double() if each.is_floating_point() else each for name, each in tensors.items()}
        torch.set_default_dtype(torch.float64)  # of what the model makes itself: states, masks, constants
        try:
            model = self.model().double()
            keys = {key: self.spoken(key, dict.fromkeys(self.arguments)) for key in self.state(model)}
            with torch.no_grad():
                for key, tensor in self.state(model).items():
                    tensor.copy_(wide[keys[key]])
            return self.outputs(model, [wide.get(name, constants.get(name)) for name in self.called(wide, constants)])
        finally:
            torch.set_default_dtype(torch.float32)

    def called(self, tensors, constants):
        """Returns the names of the arguments that get_inputs gives."""
        return [name for name in self.arguments if name in tensors or name in constants]

    def time(self, seed, compiled, seconds):
        """Returns the times of calls in s, without those of warming up."""
        model, values = self.draw(seed)
        call = self.torch.compile(model) if compiled else model
        times, end = [], None
        with self.torch.no_grad():
            for _ in range(3):
                call(*values)
            end = time.perf_counter() + seconds
            while len(times) < 5 or time.perf_counter() < end:
                start = time.perf_counter()
                call(*values)
                times.append(time.perf_counter() - start)
        return times


def executed(source, sizes):
    """Executes a module; whole numbers that it defines at its top level get the values in ``sizes``, if any.

    Returns:
        Its names, the source that does the same by itself, and the numbers.
    """
    module, known, lines, added = {"__name__": "problem"}, {}, source.split("\n"), 0
    for node in ast.parse(source, "problem.py").body:
        exec(compile(ast.Module([node], []), "problem.py", "exec"), module)  # this program is for that
        targets = node.targets if isinstance(node, ast.Assign) else []
        for name in [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]:
            if type(module.get(name)) is int:
                known[name] = module[name]
            if name in sizes and name in known:
                known[name] = module[name] = sizes[name]
                lines.insert(node.end_lineno + added, f"{name} = {sizes[name]}")
                added += 1
    if unknown := sorted(set(sizes) - set(known)):
        raise ValueError(f"sizes: the problem has no number {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    return module, "\n".join(lines), known


def refuse_large(torch, text, sizes, most_bytes):
    """Raises where a problem takes too much memory, before any of it is taken; says which sizes do.

    Raises:
        TooLarge: It has more than ``most_bytes`` of inputs, weights and outputs.
    """
    told = extent(torch, text, sizes)
    if told is None or told[0] <= most_bytes:
        return
    size, numbers = told
    smaller = smaller_sizes(torch, text, sizes, most_bytes)
    hint = ",".join(f"{name}:{number}" for name, number in smaller.items())
    raise TooLarge(
        f"{size / 1e9:.3g} GB of inputs, weights and outputs, and memory to judge {most_bytes / 1e9:.2g} GB; "
        + (f"smaller sizes do, e.g. 'task.sizes={{{hint}}}' " if hint else "task.sizes gives smaller numbers ")
        + f"({listed(numbers)} now)"
    )


def extent(torch, text, sizes):
    """Returns how many bytes of inputs, weights and outputs a problem has, and its numbers, without computing it.

    None where its model needs numbers to know, or fails.
    """
    try:
        with torch.device("meta"), torch.no_grad():
            module, _, numbers = executed(text, sizes)
            model, values = module["Model"](*module["get_init_inputs"]()), module["get_inputs"]()
            made = model(*values)
    except BaseException:  # noqa: BLE001  # what is wrong is told when it is run for real
        return None
    made = made if isinstance(made, tuple | list) else [made]
    tensors = [each for each in (*values, *model.state_dict().values(), *made) if torch.is_tensor(each)]
    return sum(each.nbytes for each in tensors), numbers


def smaller_sizes(torch, text, sizes, most_bytes):
    """Returns values for some numbers of a problem with which it is small enough: batches are halved, then the largest.

    Empty where halving them does not do.
    """
    size, left = extent(torch, text, sizes)
    found = dict(sizes)
    while left := {name: number for name, number in left.items() if number > 1}:
        name = next((each for each in left if each.startswith("batch")), max(left, key=left.__getitem__))
        tried = {**found, name: left[name] // 2}
        told = extent(torch, text, tried)
        if told is None or told[0] >= size:
            del left[name]
            continue
        found, size, left[name] = tried, told[0], tried[name]
        if size <= most_bytes:
            return found
    return {}


def listed(numbers):
    """Returns the numbers of a problem in words."""
    return ", ".join(f"{name} = {number}" for name, number in numbers.items()) or "it names no numbers"


def plain(tensors):
    """Returns tensors as contiguous arrays."""
    return {name: each.detach().contiguous().numpy() for name, each in tensors.items()}


def answer(state, message, arrays):
    """Obeys one command."""
    if message["command"] == "load":
        import torch  # noqa: F401  # its libraries are mapped before memory is limited: they take none

        resource.setrlimit(resource.RLIMIT_DATA, (message["memory_bytes"],) * 2)
        state["problem"] = Problem(message["sizes"], message["most_bytes"])
        return state["problem"].describe(), {}
    problem = state["problem"]
    if message["command"] == "draw":
        tensors, _ = problem.split(*problem.draw(message["seed"]))
        return {}, plain(tensors)
    if message["command"] == "run":
        return {}, plain(problem.run(arrays, message["constants"]))
    usual = problem.torch.get_num_threads()
    problem.torch.set_num_threads(message["threads"])
    taken = problem.time(message["seed"], message["compiled"], message["limit_s"])
    problem.torch.set_num_threads(usual)
    return {"seconds": taken}, {}


def seeded(torch, seed):
    """Seeds everything that a problem may draw from."""
    import numpy as np

    torch.manual_seed(seed)
    np.random.seed(seed % (1 << 32))  # noqa: NPY002  # the global generator is what problems use
    random.seed(seed)


def one_line(error):
    """Returns what was raised, and by which line of the problem; messages of torch have many lines."""
    told = " ".join(f"{type(error).__name__}: {error}".split())[:1000]
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == "problem.py"]
    return f"{told} (line {lines[-1]})" if lines else told


def main():
    """Serves until the parent is gone."""
    spec = importlib.util.spec_from_file_location("device", pathlib.Path(__file__).with_name("device.py"))
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    pipes, state = device.Pipes(os.dup(0), os.dup(1)), {}
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    while (received := pipes.read()) is not None:
        try:
            told, arrays = answer(state, *received)
            json.dumps(told)
        except TooLarge as error:
            told, arrays = {"failed": "out_of_memory", "log": str(error)}, {}
        except BaseException as error:  # noqa: BLE001  # whatever a foreign file raises is an answer, an exit too
            told, arrays = {"failed": "raised", "log": one_line(error)}, {}
            if isinstance(error, MemoryError) or "can't allocate memory" in told["log"]:
                told = {"failed": "out_of_memory", "log": f"{told['log']}; task.sizes gives smaller numbers"}
        pipes.write(told, arrays)


if __name__ == "__main__":
    main()
