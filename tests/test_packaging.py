"""The distribution: what is in the wheel, and whether it works in another folder, alone."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("conf", "evolve", "experiments", "fitness", "llm", "operators")
PLUGINS = "hydra_plugins"
"""A folder that distributions share: Hydra prescribes its name."""
PEERS = {"kernel-tuner"}
"""Other tools, which only benchmarks import, to stand beside them; they are no dependencies."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy of what git knows, so that no left-over file slips in."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in (*PACKAGES, PLUGINS, "pyproject.toml", "README.md", "LICENSE"):
        ignore = shutil.ignore_patterns("__pycache__", "results")
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        source.mkdir(exist_ok=True)
        copy(ROOT / name, source / name, **({"ignore": ignore} if (ROOT / name).is_dir() else {}))
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_six_packages_and_our_plugins_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert {*PACKAGES, PLUGINS} == tops


def test_the_wheel_holds_everything_that_is_no_python(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    results = ROOT / "experiments" / "results"
    data = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and results not in path.parents and path.suffix not in (".py", ".pyc")
    }

    assert set() == data - inside


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel in an environment of its own, with this environment's dependencies, which need not be fetched again."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.EnvBuilder(with_pip=False).create(folder / "env")
    python = folder / "env" / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--quiet", str(wheel)],
        check=True,
        capture_output=True,
    )
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(("kernelwright", "__editable__", "_kernelwright")) and path.suffix != ".pth":
            (borrowed / path.name).symlink_to(path)
    (Path(site) / "borrowed.pth").write_text(f"{borrowed}\n")
    return folder


def test_the_console_script_runs_a_small_search_elsewhere(installed):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [installed / "env" / "bin" / "kernelwright", "task=row_sum", "evaluator=quick", "generations=1", "lambda_=2"],
        cwd=installed,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert 0 == done.returncode, done.stderr
    assert 1 == len(list(installed.glob("runs/*/report.html")))


def test_a_strangers_package_in_the_same_environment_is_refused(installed):
    site = next((installed / "env" / "lib").glob("python*/site-packages"))
    stranger = site / "stranger-1.0.dist-info"
    stranger.mkdir()
    (stranger / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (stranger / "RECORD").write_text("llm/__init__.py,,\n")
    done = subprocess.run(
        [installed / "env" / "bin" / "kernelwright"],
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    shutil.rmtree(stranger)

    assert (1, 1) == (done.returncode, len(done.stderr.splitlines())), done.stderr
    assert "also claimed by the distribution stranger" in done.stderr


def test_the_folder_of_plugins_belongs_to_nobody():
    """With a file of ours in it, the plugins of other distributions would disappear."""
    assert ["kernelwright"] == [path.name for path in (ROOT / PLUGINS).iterdir() if path.name != "__pycache__"]


def test_no_init_file_under_tests():
    assert [] == list((ROOT / "tests").rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_of_modules_is_a_regular_package(package):
    seeds = ROOT / "fitness" / "tasks" / "seeds"
    workers = ROOT / "fitness" / "workers"
    folders = {path.parent for path in (ROOT / package).rglob("*.py")} - {seeds, workers}

    assert [] == sorted(str(folder) for folder in folders if not (folder / "__init__.py").exists())


@pytest.mark.parametrize("package", ["evolve", "fitness", "llm", "operators"])
def test_all_is_what_is_exported(package):
    module = __import__(package)
    tree = ast.parse((ROOT / package / "__init__.py").read_text())
    relative = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    imported = {alias.asname or alias.name for node in relative for alias in node.names}

    assert set() == imported - set(module.__all__) - {name for name in imported if name.startswith("_")}
    assert [] == [name for name in module.__all__ if not hasattr(module, name)]


def imports(path: Path) -> set[str]:
    """Top-level names of the absolute imports of a file."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    other = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module]
    return {name.split(".")[0] for name in (*plain, *other)}


def test_no_dependency_is_imported_without_being_declared():
    project = PROJECT["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.split(r"[^\w-]", each)[0].lower() for group in groups for each in group}
    distributions = {
        "hydra": "hydra-core",
        "yaml": "pyyaml",
        "elftools": "pyelftools",
        "pynvml": "nvidia-ml-py",
        "mlflow": "mlflow-skinny",
        "tensorboardX": "tensorboardx",
    }
    apart = [ROOT / "fitness" / "workers", ROOT / "fitness" / "tasks" / "seeds"]
    files = [
        path for package in (*PACKAGES, PLUGINS) for path in (ROOT / package).rglob("*.py") if path.parent not in apart
    ]
    found = {name for path in files for name in imports(path)} - set(sys.stdlib_module_names) - set(PACKAGES)

    assert set() == {distributions.get(name, name.replace("_", "-")) for name in found} - declared - PEERS
