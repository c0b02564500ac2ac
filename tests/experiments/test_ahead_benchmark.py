"""The benchmark of compiling ahead of time: it measures what it says, and a toolchain that is not here has no line."""

import importlib.util
import json

import pytest

from experiments.benchmarks import ahead
from fitness import ToolchainError
from fitness.languages import Triton

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")


class Absent(Triton):
    def build_ahead(self, kernel, task, arch, workdir):
        raise ToolchainError("there is no such compiler: install one")


def test_a_line_for_each_toolchain_that_is_here(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ahead, "LANGUAGES", {"triton": Triton(), "absent": Absent()})
    monkeypatch.setattr(ahead, "ARCHITECTURES", ("gfx942", "no_such_arch"))

    assert 0 == ahead.main(["--repeats", "1", "--json", str(tmp_path / "lines.json")])
    (line,) = json.loads((tmp_path / "lines.json").read_text())
    assert ("triton", "gfx942") == (line["compiler"], line["arch"])
    assert line["ratio"] == line["build_s"] / line["alone_s"]
    assert min(line["alone_s"], line["build_s"], line["read_s"]) > 0
    assert "absent for gfx942: there is no such compiler: install one" in capsys.readouterr().err


def test_a_seed_that_does_not_compile_is_said_so():
    with pytest.raises(RuntimeError, match="the seed of softmax is build_failed for gfx1"):
        ahead.ours_s(ahead.TASK.seed_kernel("triton"), Triton(), "gfx1")
