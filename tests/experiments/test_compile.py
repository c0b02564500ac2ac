import importlib.util
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

import conf
from experiments.build import make
from experiments.compile import _check_arch
from experiments.composition import composed
from experiments.faults import RunError
from fitness.ahead import AheadBuild
from fitness.languages import Cuda, Hip


def needs(module):
    missing = any(importlib.util.find_spec(each) is None for each in ("torch", module))
    return pytest.mark.skipif(missing, reason=f"torch or {module} is not installed")


needs_nvrtc = pytest.mark.skipif(not Cuda()._uses_nvrtc(), reason="NVRTC is not installed")
needs_clang = pytest.mark.skipif(shutil.which("clang++-19") is None, reason="clang 19 is not installed")
needs_triton, needs_cute = needs("triton"), needs("cutlass")


@needs_nvrtc
def test_prints_one_object_for_the_seed(command):
    done = command("compile", "task=softmax", "language=cuda", "arch=sm_90a")
    record = json.loads(done.stdout)

    assert 0 == done.returncode
    assert {"schema", "status", "arch", "static", "artifact_bytes", "log", "seconds"} == set(record)
    assert ("ok", "sm_90a") == (record["status"], record["arch"])


@needs_nvrtc
def test_a_verdict_is_data(command, tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text('extern "C" void kernel() { no }')
    done = command("compile", "task=softmax", "language=cuda", "arch=sm_90a", f"kernel={path}")

    assert 0 == done.returncode
    assert "build_failed" == json.loads(done.stdout)["status"]


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (("task=softmax", "language=cuda"), 2, "arch: missing"),
        (("task=softmax", "language=cpp", "arch=native"), 2, "does not compile ahead of time; choose from cuda"),
        (("task=softmax", "language=mtia_cpp", "arch=x"), 2, "does not compile ahead of time; choose from cuda"),
        (("task=softmax", "language=cuda", "arch=gfx942"), 1, "cuda compiles for sm_*"),
        (("task=nothing", "language=cuda", "arch=sm_90"), 2, "unknown task"),
        (("task=softmax", "language=cuda", "arch=sm_90", "kernel=nowhere.cu"), 2, "does not exist"),
    ],
)
def test_mistakes_are_one_line(command, arguments, status, text):
    done = command("compile", *arguments)

    assert status == done.returncode
    assert "" == done.stdout
    assert text in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("language", "arch", "known"),
    [
        pytest.param("cuda", "sm_999", "sm_90,", marks=needs_nvrtc),
        pytest.param("cuda", "sm_90x", "sm_90,", marks=needs_nvrtc),
        pytest.param("hip", "gfx999", "gfx942", marks=needs_clang),
        pytest.param("triton", "sm_90x", "write it as in sm_90a", marks=needs_triton),
        pytest.param("triton", "gfx999", "unsupported target: 'gfx999'", marks=needs_triton),
        pytest.param("cute", "sm_899", "sm_899", marks=needs_cute),
    ],
)
def test_an_architecture_that_a_toolchain_does_not_know_is_no_fault_of_a_kernel(command, language, arch, known):
    done = command("compile", "task=softmax", f"language={language}", f"arch={arch}")

    assert (1, "", 1) == (done.returncode, done.stdout, len(done.stderr.splitlines())), done.stderr
    assert f"{arch}" in done.stderr
    assert known in done.stderr


@dataclass(frozen=True)
class Toolchain(Hip):
    """Compiles what holds none of some words."""

    refuses: str = ""

    def build_ahead(self, kernel, task, arch, workdir):
        right = "true" if self.refuses not in kernel.source else "false"
        return AheadBuild(("sh", "-c", f"echo it is your fault; {right}"), "*.hsaco")

    def static_metrics(self, workdir, arch, log):
        return {"vgprs": 1}


def test_who_is_at_fault_is_told_by_a_kernel_that_is_right():
    with pytest.raises(RunError, match="gfx942: it is your fault"):
        _check_arch(Toolchain(refuses=""), "gfx942")
    assert _check_arch(Toolchain(refuses="nothing of a seed's"), "gfx942") is None


def test_a_language_without_a_kernel_that_is_right_is_not_asked():
    assert _check_arch(Toolchain(name="mine", refuses=""), "gfx942") is None


def test_the_languages_to_choose_from_are_those_that_compile_ahead(command):
    told = command("compile", "task=softmax", "language=cpp", "arch=native").stderr
    members = [path.stem for path in Path(conf.__file__).parent.glob("language/*.yaml")]
    made = {name: make(composed([f"language={name}"]), "language") for name in members}
    ahead = sorted(name for name, language in made.items() if hasattr(language, "build_ahead"))

    assert f"choose from {', '.join(ahead)}, or" in told


def test_a_missing_toolchain_is_a_fault_of_the_machine(command):
    if importlib.util.find_spec("flydsl") is not None:
        pytest.skip("FlyDSL is installed")
    done = command("compile", "task=softmax", "language=flydsl", "arch=gfx942")

    assert 1 == done.returncode
    assert "flydsl needs" in done.stderr
