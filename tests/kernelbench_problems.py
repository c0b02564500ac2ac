"""Problem files of our own in the form of KernelBench's, and a folder that holds them as a checkout does."""

from __future__ import annotations

from pathlib import Path

AFFINE = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs)
        self.scale = nn.Parameter(torch.ones(outputs))

    def forward(self, x, factor):
        return self.linear(x) * self.scale * factor


batch = 4 * 8
features, outputs = 20, 12


def get_inputs():
    return [torch.randn(batch, features), 1.5]


def get_init_inputs():
    return [features, outputs]
"""
NORMED = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm1d(features)

    def forward(self, x, keep):
        return self.bn(x) * keep, x.argmax(dim=1)


def get_inputs():
    return [torch.randn(33, 7), torch.randint(0, 2, (33, 7)).bool()]


def get_init_inputs():
    return [7]
"""
BIAS_TAKEN_OUT = """\
import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
        self.norm = torch.nn.BatchNorm1d(features)

    def forward(self, x):
        return self.norm(self.linear(x))


def get_inputs():
    return [torch.randn(33, 9)]


def get_init_inputs():
    return [9]
"""
BUFFERS = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for number in range(9):
            self.register_buffer(f"used{number}" if number in (2, 3, 7) else f"unused{number}", torch.ones(7))

    def forward(self, x):
        return x * self.used2 - self.used3 + self.used7


def get_inputs():
    return [torch.randn(33, 7)]


def get_init_inputs():
    return []
"""
DEEP = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(9, 9) for _ in range(30))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


def get_inputs():
    return [torch.randn(33, 9)]


def get_init_inputs():
    return []
"""


def of_one_input(expression: str, rows: int = 16, columns: int = 32, before: str = "") -> str:
    """A problem whose model computes an expression of ``x``, a matrix of numbers between 0 and 1."""
    return (
        f"import torch\n{before}\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return {expression}\n\n"
        f"rows = {rows}\ncolumns = {columns}\n\n\ndef get_inputs():\n    return [torch.rand(rows, columns)]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )


TINY = of_one_input("torch.softmax(x, dim=1)", columns=40000)
CONSTANT = of_one_input("x.amax(1, keepdim=True) - x.amax(1, keepdim=True).mean(1, keepdim=True)")
POSITIVE = of_one_input("torch.relu(x)")
LONG_SUMS = of_one_input("x.sum(1)", columns=4096)
GREEDY = of_one_input("x * torch.empty(1 << 50)[:32]")
RANDOM = of_one_input("torch.nn.functional.dropout(x)")
SQUARES = of_one_input("(x * x).sum(1)", rows=4000)
READS = of_one_input("x", before="open('/etc/passwd').read()\n")
LEAVES = of_one_input("x", before="import os\nos._exit(0)\n")
QUITS = of_one_input("x", before="raise SystemExit('bye')\n")
MASK = of_one_input("x > 0.5")
HANGS = of_one_input("x", before="while True:\n    pass\n")
NO_PROBLEM = "import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n"

HIDDEN = of_one_input("x @ torch.full((32, 3), 0.1)")
NUMPY = of_one_input("x.sum(1)").replace(
    "torch.rand(rows, columns)", "torch.from_numpy(numpy.random.rand(rows, columns)) * random.random()"
)
NUMPY = "import random\n\nimport numpy\n" + NUMPY
UNUSUAL_TEXT = "\ufeff" + of_one_input("x.sum(1)", before='rows = 3\ntext = "a\u2028b\x0cc"\n')
NO_LIST = of_one_input("x").replace("return [torch.rand(rows, columns)]", "return torch.rand(rows, columns)")
NO_ARGUMENTS = of_one_input("x").replace("return []", "return None")
NO_CLASS = of_one_input("x").replace("class Model(torch.nn.Module):", "Model = None\nclass Other:")
NO_FORWARD = of_one_input("x").replace("def forward", "def backward")
NAMELESS = of_one_input("x").replace("self, x):", "self, *x):")
NOTHING = of_one_input("()")
MAPPING = of_one_input("{'y': x}")
BROKEN = of_one_input("x", before="def (:")
FAILING = of_one_input("x.no_such_method()")

SQUARES_CPP = """\
extern "C" void kernel(const float* x, float* out) {
    for (long i = 0; i < 4000; i++) {
        out[i] = 0.0f;
        for (long j = 0; j < 32; j++) out[i] += x[i * 32 + j] * x[i * 32 + j];
    }
}
"""


def checkout(root: Path, *problems: str) -> str:
    """Writes problems 1, 2, … of level 1 below ``root``."""
    folder = root / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    for number, source in enumerate(problems, 1):
        (folder / f"{number}_Problem.py").write_text(source)
    return str(root)
