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
RANDOM = of_one_input("torch.nn.functional.dropout(x)")
SQUARES = of_one_input("(x * x).sum(1)", rows=4000)
READS = of_one_input("x", before="open('/etc/passwd').read()\n")
LEAVES = of_one_input("x", before="import os\nos._exit(0)\n")
QUITS = of_one_input("x", before="raise SystemExit('bye')\n")
MASK = of_one_input("x > 0.5")
HANGS = of_one_input("x", before="while True:\n    pass\n")
NO_PROBLEM = "import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n"

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
