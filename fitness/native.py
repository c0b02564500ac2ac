"""The native halves, compiled once on this machine: the trusted `driver` (loaded here) and the sandboxed `runner`."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import subprocess
from importlib import resources
from pathlib import Path

from .cache import Cache, digest_of
from .compiler import Compiler, processor
from .errors import MachineError, ToolchainError

MAX_BUFFERS = 12
MAX_ARGUMENTS = 16
NOT_PINNED = 0xFFFFFFFF

LOAD, CALL, SEAL = 1, 2, 3
HELLO, READY, LOADED, DONE, NO_LOAD, NO_MEMORY, THROWN, ENDED = range(1, 9)
FINE, GONE, TIMED_OUT, FORGED, TAMPERED, UNWRITTEN, TOLD, STARVED = 0, -1, -2, -3, -4, -5, -6, -7
RAW, FLOAT32, FLOAT64 = 0, 1, 2
WHOLE, PICKED, MEAN = 0, 1, 2

_U32, _U64, _I32, _I64, _P = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p


class Buffer(ctypes.Structure):
    """Mirror of ``Buffer`` in driver.hpp."""

    _fields_ = [
        ("offset", _U64),
        ("bytes", _U64),
        ("is_output", _U32),
        ("element", _U32),
        ("blend", _U32),
        ("reserved", _U32),
    ]


class Plan(ctypes.Structure):
    """Mirror of ``Plan`` in driver.hpp."""

    _fields_ = [
        ("origin", _U64 * 2),
        ("stride", _U64 * 2),
        ("sets", _U32),
        ("buffers", _U32),
        ("extents", _U32),
        ("reserved", _U32),
        ("buffer", Buffer * MAX_BUFFERS),
        ("extent", _I64 * MAX_ARGUMENTS),
    ]


class Side(ctypes.Structure):
    """Mirror of ``Side`` in driver.hpp."""

    _fields_ = [
        ("work", _I32),
        ("process", _I32),
        ("arena", _P),
        ("base", _U64),
        ("sequence", _U32),
        ("told", _U32),
        ("cpu_ns", _I64),
        ("busy_ns", _I64),
        ("limit_ns", _I64),
        ("schedstat", _I32),
        ("reserved", _I32),
        ("float_state", _U64),
        ("text", ctypes.c_char * 232),
    ]


class Sample(ctypes.Structure):
    """Mirror of ``Sample`` in driver.hpp."""

    _fields_ = [("wall_ns", _I64), ("cpu_ns", _I64), ("delay_ns", _I64), ("idle_ns", _I64)]


class Draw(ctypes.Structure):
    """Mirror of ``Draw`` in driver.hpp."""

    _fields_ = [("entries", _U32 * 2), ("key", _U64)]


class Judged(ctypes.Structure):
    """Mirror of ``Judged`` in driver.hpp."""

    _fields_ = [("pair", _U32), ("trip", _U32), ("set", _U32), ("taken", _U32), ("draw", Draw), ("outputs", _P)]


class Timing(ctypes.Structure):
    """Mirror of ``Timing`` in driver.hpp."""

    _fields_ = [
        ("plan", ctypes.POINTER(Plan)),
        ("sources", ctypes.POINTER(_P)),
        ("entries", _U32),
        ("pairs", _U32),
        ("trips", _U32 * 2),
        ("overhead_ns", ctypes.c_double * 2),
        ("seed", _U64),
        ("deadline_ns", _I64),
        ("disagreement", ctypes.c_double),
        ("flush", _P),
        ("flush_bytes", _U64),
        ("repeated", _U32),
        ("failed_side", _U32),
        ("samples", ctypes.POINTER(Sample) * 2),
        ("judged", ctypes.POINTER(Judged)),
        ("judged_count", _U32),
        ("pinned", _U32),
        ("processors", ctypes.POINTER(_I32)),
        ("processor_count", _U32),
        ("reserved", _U32),
    ]


_SIGNATURES = {
    "kw_greet": (_I32, [_I32, _I64, ctypes.POINTER(Side)]),
    "kw_round_trip": (_I64, [_I32, _I32, ctypes.c_char_p, _U64, _I64]),
    "kw_exchange": (_I32, [ctypes.POINTER(Side), _U32, _U64, _U64, ctypes.POINTER(Sample)]),
    "kw_fill": (None, [ctypes.POINTER(Side), ctypes.POINTER(Plan), _U32, _P, ctypes.POINTER(Draw)]),
    "kw_fill_all": (None, [ctypes.POINTER(Side), _P, _P, _P, _U32]),
    "kw_inspect_all": (_I32, [ctypes.POINTER(Side), _P, _P, _P, _U32, ctypes.POINTER(_U32)]),
    "kw_inputs": (None, [ctypes.POINTER(Plan), _P, ctypes.POINTER(Draw), _P]),
    "kw_call": (None, [ctypes.POINTER(Side), ctypes.POINTER(Plan), _U32, _U32]),
    "kw_inspect": (_I32, [ctypes.POINTER(Side), ctypes.POINTER(Plan), _U32, _P, ctypes.POINTER(Draw)]),
    "kw_watch": (None, [ctypes.POINTER(Side)]),
    "kw_forget": (None, [ctypes.POINTER(Side)]),
    "kw_pin": (None, [_I32, _I32]),
    "kw_cpu_ns": (_I64, [_I32]),
    "kw_pairs": (_I32, [ctypes.POINTER(Timing), ctypes.POINTER(Side), ctypes.POINTER(Side)]),
    "kw_peak_flops": (ctypes.c_double, [ctypes.c_double]),
    "kw_peak_bytes": (ctypes.c_double, [_U64, ctypes.c_double]),
}

_SOURCES = ("protocol.hpp", "driver.hpp", "driver.cpp", "confine.hpp", "init.hpp", "runner.cpp", "forked.cpp")
_RUNTIME = (
    "c.so.6",
    "m.so.6",
    "mvec.so.1",
    "pthread.so.0",
    "dl.so.2",
    "rt.so.1",
    "stdc++.so.6",
    "gcc_s.so.1",
    "gomp.so.1",
    "omp.so.5",
    "omp.so",
    "atomic.so.1",
    "quadmath.so.0",
)
_FLAGS = {
    "driver.so": ("-O3", "-march=native", "-ffp-contract=fast", "-fPIC", "-shared", "driver.cpp"),
    "runner": ("-O2", "-rdynamic", "runner.cpp", "-ldl"),
    "forked.so": ("-O2", "-fPIC", "-shared", "forked.cpp"),
}


@functools.lru_cache(maxsize=4)
def native(compiler: Compiler) -> Path:
    """Returns the folder with ``driver.so``, ``runner`` and ``forked.so``, built on the first use.

    Raises:
        ToolchainError: The compiler cannot build them.
    """
    texts = [resources.files(__package__).joinpath("workers", name).read_text(encoding="utf-8") for name in _SOURCES]
    key = digest_of(compiler.version, processor(), repr(sorted(_FLAGS.items())), *texts)

    def fill(folder: Path) -> None:
        for name, text in zip(_SOURCES, texts, strict=True):
            (folder / name).write_text(text, encoding="utf-8")
        for name, flags in _FLAGS.items():
            _compile([*compiler.argv, "-std=c++17", *flags, "-o", name], folder)

    return Cache().make("native", key, fill)


@functools.lru_cache(maxsize=4)
def runtime_files(compiler: Compiler) -> tuple[Path, ...]:
    """Returns the dynamic loader and the libraries that an artifact of ``compiler`` may need; it sees no others."""
    names = [f"lib{name}" for name in _RUNTIME]
    found: set[Path] = set()
    for name in names:
        try:
            answer = subprocess.run(
                [*compiler.argv, f"-print-file-name={name}"], capture_output=True, text=True, timeout=30, check=True
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            continue
        if os.path.isabs(answer):
            found.add(Path(os.path.realpath(os.path.dirname(answer))) / name)
    needed = subprocess.run(
        [native(compiler) / "runner"],
        env={"LD_TRACE_LOADED_OBJECTS": "1"},
        capture_output=True,
        check=False,
        text=True,
        timeout=30,
    ).stdout
    for path in re.findall(r"(/\S+) \(0x", needed):
        found.add(Path(os.path.realpath(os.path.dirname(path))) / os.path.basename(path))
    return tuple(sorted(found))


def _compile(argv: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            argv, cwd=folder, capture_output=True, check=False, text=True, timeout=300, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{argv[0]} does not run: {error}") from error
    if done.returncode != 0:
        if "No space left on device" in done.stderr:
            raise MachineError("the disk is full: there is no room to build the measuring program")
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
        raise ToolchainError(f"{argv[0]} cannot build the measuring program: {first}")


@functools.lru_cache(maxsize=4)
def driver(compiler: Compiler) -> ctypes.CDLL:
    """Loads the driver; its functions release the interpreter lock while they run."""
    library = ctypes.CDLL(str(native(compiler) / "driver.so"))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
