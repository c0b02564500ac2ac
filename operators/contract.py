"""What a kernel must look like from outside: derived from task and language, told to models, checked on answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from fitness import Task

_C_TYPES: Mapping[str, str] = {
    "float64": "double",
    "float32": "float",
    "int64": "long",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "uint32": "unsigned int",
    "bool": "bool",
}
_HALF_TYPES: Mapping[str, Mapping[str, str]] = {
    "float16": {"cuda": "__half", "hip": "__half", "cpp": "_Float16", "opencl": "half"},
    "bfloat16": {"cuda": "__nv_bfloat16", "hip": "__hip_bfloat16", "cpp": "__bf16"},
}
_STREAMS: Mapping[str, str] = {"cuda": "cudaStream_t", "hip": "hipStream_t"}

_TITLES: Mapping[str, str] = {
    "cpp": "C++",
    "cuda": "CUDA C++",
    "hip": "HIP C++",
    "opencl": "OpenCL C",
    "triton": "Python with Triton",
    "cute": "Python with the CuTe DSL",
    "flydsl": "Python with FlyDSL",
    "numba": "Python with Numba",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a C-like entry point.

    Attributes:
        type: Its C type without qualifiers, e.g. ``"float*"`` or ``"long"``.
        name: As the task calls it.
        read_only: Whether it is an input buffer.
    """

    type: str
    name: str
    read_only: bool = False

    def __str__(self) -> str:
        return f"{'const ' if self.read_only else ''}{self.type} {self.name}"


@dataclass(frozen=True, slots=True)
class Contract:
    """The outside of a kernel.

    Attributes:
        language: Name of the language.
        family: ``"c"`` for a C symbol, ``"python"`` for a Python function.
        entry_point: Name of the function that is called.
        parameters: Of the C symbol, or of what becomes one; None where the language has another convention.
        inputs: Names of the arrays that a Python function takes.
        outputs: Names of the arrays that it returns.
    """

    language: str
    family: Literal["c", "python"]
    entry_point: str
    parameters: tuple[Parameter, ...] | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def title(self) -> str:
        """The language's name for people."""
        return _TITLES.get(self.language, self.language)

    @property
    def fence(self) -> str:
        """The label of a code fence in this language."""
        return "python" if self.family == "python" else {"cuda": "cuda", "opencl": "c"}.get(self.language, "cpp")

    @property
    def arity(self) -> int:
        """How many arguments the entry point takes."""
        return len(self.inputs if self.parameters is None else self.parameters)

    @property
    def signature(self) -> str:
        """The lines that declare the entry point."""
        if self.language == "numba" and self.parameters is not None:
            types = ", ".join(parameter.type for parameter in self.parameters)
            names = ", ".join(parameter.name for parameter in self.parameters)
            return f'@cfunc("void({types})")\ndef {self.entry_point}({names}):'
        if self.language == "opencl" and self.parameters is not None:
            listed = ", ".join(map(str, self.parameters))
            return f"#pragma {self.entry_point} NAME global(SIZE, …) local(SIZE, …)\n__kernel void NAME({listed})"
        if self.family == "python":
            return f"def {self.entry_point}({', '.join(self.inputs)}):"
        if self.parameters is None:
            return self.entry_point
        return f'extern "C" void {self.entry_point}({", ".join(map(str, self.parameters))})'


def contract(task: Task, language: str, grammar: str) -> Contract:
    """Derives the contract of a task in a language.

    Args:
        task: For inputs, outputs and axes.
        language: Its name.
        grammar: ``"cpp"`` or ``"python"``, as `fitness.Language` has it.
    """
    names = tuple(task.inputs), tuple(task.outputs)
    if language == "numba":
        return Contract(language, "python", "kernel_fn", _parameters(task, "CPointer({})", str, "int64"), *names)
    if grammar == "python":
        return Contract(language, "python", "kernel_fn", None, *names)
    c_type = partial(_c_type, language=language)
    if language == "opencl":
        return Contract(language, "c", "launch", _parameters(task, "__global {}*", c_type, "long"), *names)
    if language not in _STREAMS and language != "cpp":
        return Contract(language, "c", "kernel", None, *names)
    stream = (Parameter(_STREAMS[language], "stream"),) if language in _STREAMS else ()
    return Contract(language, "c", "kernel", (*_parameters(task, "{}*", c_type, "long"), *stream), *names)


def _parameters(task: Task, pointer: str, type_of: Callable[[str], str], size: str) -> tuple[Parameter, ...]:
    inputs = [Parameter(pointer.format(type_of(spec.dtype)), name, True) for name, spec in task.inputs.items()]
    outputs = [Parameter(pointer.format(type_of(spec.dtype)), name) for name, spec in task.outputs.items()]
    return (*inputs, *outputs, *(Parameter(size, axis) for axis in task.axes))


def _c_type(dtype: str, language: str) -> str:
    return _C_TYPES.get(dtype) or _HALF_TYPES.get(dtype, {}).get(language) or f"{dtype}_t"
