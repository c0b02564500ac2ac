"""Restructured kernels compute what their seeds compute: one build a task, each variant under its own name."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fitness.tasks
from operators.syntax import applied, parse
from operators.syntax.edits import C_LIKE, STATEMENTS

SEEDS = Path(fitness.tasks.__file__).parent / "seeds"
CARELESS = {*STATEMENTS, "operand", "constant", "operator", "variable_type"}
CAREFUL = {name: kind for name, kind in C_LIKE.items() if name not in CARELESS}
SIGNATURES = {  # shapes of inputs and of the output, by the letters of the axes
    "bucketize": (("N", "B"), "N", "NB"),
    "conv1d": (("BCL", "FCK"), "BFL", "BCFLK"),
    "gelu_bias": (("MN", "N"), "MN", "MN"),
    "layer_norm": (("MN", "N", "N"), "MN", "MN"),
    "matmul": (("MK", "KN"), "MN", "MNK"),
    "prefix_sum": (("MN",), "MN", "MN"),
    "row_sum": (("MN",), "M", "MN"),
    "softmax": (("MN",), "MN", "MN"),
    "stencil2d": (("MN", "9"), "MN", "MN"),
    "transpose": (("MN",), "NM", "MN"),
}
SIZES = [dict(zip("MNKBCFL", sizes, strict=True)) for sizes in ((1, 1, 1, 1, 1, 1, 2), (33, 37, 19, 5, 3, 4, 40))]
RUNNER = """
import ctypes, sys
import numpy as np

library, count, dtype, folder = ctypes.CDLL(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
data = np.load(folder + "/inputs.npz")
for case in range(int(data["cases"])):
    inputs = [data[name] for name in sorted(data.files) if name.startswith(f"in{case}_")]
    axes = [ctypes.c_long(int(each)) for each in data[f"axes{case}"]]
    outputs = []
    for variant in range(count):
        output = np.full(data[f"shape{case}"], -77, dtype)
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (*inputs, output)]
        getattr(library, f"variant_{variant}")(*pointers, *axes)
        outputs.append(output)
    np.save(f"{folder}/out{case}.npy", np.stack(outputs))
"""

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


def variants(source: str, depth: int) -> list[tuple[str, str]]:
    """The seed itself, two edits of every careful kind, and some chains of edits."""
    found = {source: "seed"}
    tree = parse(source, "cpp")
    for name, kind in CAREFUL.items():
        for seed in range(2):
            edit = kind(tree, np.random.default_rng(seed))
            new = applied(edit, tree, "kernel") if edit is not None else None
            found.setdefault(new or source, f"{name}: {edit.note if edit else ''}")
    for seed in range(6):
        rng, chain, notes = np.random.default_rng(seed), source, []
        while len(notes) < depth:
            name = sorted(CAREFUL)[int(rng.integers(len(CAREFUL)))]
            now = parse(chain, "cpp")
            edit = CAREFUL[name](now, rng)
            chain = (applied(edit, now, "kernel") if edit is not None else None) or chain
            notes.append(f"{name}: {edit.note if edit else ''}")
        found.setdefault(chain, "; ".join(notes))
    return list(found.items())


def build(kernels: list[str], folder: Path) -> Path:
    lines = ["#include <cmath>", "#include <cstdint>"]
    for number, text in enumerate(kernels):
        lines += [f"#define kernel variant_{number}", text, "#undef kernel"]
    (folder / "all.cpp").write_text("\n".join(lines))
    command = [
        "g++",
        "-O1",
        "-fopenmp-simd",
        "-fPIC",
        "-shared",
        "-w",
        "-o",
        str(folder / "all.so"),
        str(folder / "all.cpp"),
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:2000]
    return folder / "all.so"


@pytest.mark.parametrize("task", sorted(SIGNATURES))
def test_careful_edits_keep_the_meaning(task, tmp_path):
    found = variants((SEEDS / f"{task}.cpp").read_text(), depth=4)
    library = build([text for text, _ in found], tmp_path)
    arrays, rng = {"cases": len(SIZES)}, np.random.default_rng(0)
    inputs, output, axes = SIGNATURES[task]
    for case, sizes in enumerate(SIZES):
        for place, letters in enumerate(inputs):
            shape = [9] if letters == "9" else [sizes[letter] for letter in letters]
            values = rng.standard_normal(shape).astype(np.float32)
            arrays[f"in{case}_{place}"] = np.sort(values) if letters == "B" else values
        arrays[f"axes{case}"] = [sizes[letter] for letter in axes]
        arrays[f"shape{case}"] = [sizes[letter] for letter in output]
    np.savez(tmp_path / "inputs.npz", **arrays)
    dtype = "int32" if task == "bucketize" else "float32"
    command = [sys.executable, "-c", RUNNER, str(library), str(len(found)), dtype, str(tmp_path)]
    subprocess.run(command, check=True, timeout=60)
    for case in range(len(SIZES)):
        outputs = np.load(tmp_path / f"out{case}.npy").astype(np.float64)
        scale = max(1.0, float(np.abs(outputs[0]).max()))
        errors = np.abs(outputs - outputs[0]).reshape(len(found), -1).max(axis=1) / scale

        assert [] == [note for (_, note), error in zip(found, errors, strict=True) if not error < 1e-4]
