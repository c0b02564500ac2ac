import importlib.util
import json
from pathlib import Path

import pytest

import conf
from experiments.build import make
from experiments.composition import composed
from fitness.languages import Cuda

needs_nvrtc = pytest.mark.skipif(not Cuda()._uses_nvrtc(), reason="NVRTC is not installed")


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
