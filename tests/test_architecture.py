"""The import table of the project, and what importing a package may load."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "llm": set(),
    "fitness": set(),
    "operators": {"fitness", "llm"},
    "evolve": {"operators", "fitness", "llm"},
    "experiments": {"evolve", "operators", "fitness", "llm"},
    "conf": set(),
    "hydra_plugins": {"experiments", "fitness"},
}
ONLY_IN = {
    "deap": {"evolve", "experiments"},
    "hydra": {"experiments", "hydra_plugins"},
    "omegaconf": {"experiments", "hydra_plugins"},
    "matplotlib": {"experiments"},
    "rich": {"experiments"},
    "jinja2": {"experiments"},
    "flask": {"experiments"},
    "pandas": {"experiments"},
    "statsmodels": {"experiments"},
    "openai": {"llm"},
    "vllm": {"llm"},
}
HEAVY = ("torch", "triton", "vllm", "ray")
DOORS = {
    "fitness": {"tasks", "kernelbench", "languages", "targets", "executors", "spaces", "admission", "ahead"},
    "evolve": {"policies", "surrogates", "recording"},
    "operators": {"syntax", "reading", "contract"},
    "experiments": {"faults"},
}
"""Sub-packages and modules from which others may import beside the package itself."""


def modules(package: str) -> list[Path]:
    seeds = ROOT / "fitness" / "tasks" / "seeds"  # kernels: data, not modules
    return sorted(path for path in (ROOT / package).rglob("*.py") if seeds not in path.parents)


def imports(path: Path, *, top_level: bool = False) -> list[str]:
    """Names of absolute imports; with ``top_level`` only those outside functions and TYPE_CHECKING."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    if top_level:
        nodes = [node for statement in tree.body if not _deferred(statement) for node in _outside_functions(statement)]
    found = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return found + [
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module
    ]


def _deferred(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)


def _outside_functions(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    return [node, *(each for child in ast.iter_child_nodes(node) for each in _outside_functions(child))]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_arrow_outside_the_table(package):
    arrows = {(path.name, name) for path in modules(package) for name in imports(path)}
    strangers = sorted(
        (file, name) for file, name in arrows if name.split(".")[0] in set(MAY_IMPORT) - MAY_IMPORT[package]
    )

    assert [] == strangers


def _is_deep(name: str) -> bool:
    package, *inside = name.split(".")
    return package in MAY_IMPORT and bool(inside) and not (len(inside) == 1 and inside[0] in DOORS.get(package, ()))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_other_packages_are_imported_whole(package):
    benchmarks = ROOT / "experiments" / "benchmarks"  # they measure what lies inside
    files = [path for path in modules(package) if benchmarks not in path.parents]

    assert [] == sorted((path.name, name) for path in files for name in imports(path) if _is_deep(name))


@pytest.mark.parametrize("library", ONLY_IN)
def test_library_stays_in_its_package(library):
    users = {
        package
        for package in MAY_IMPORT
        for path in modules(package)
        if library in {name.split(".")[0] for name in imports(path)}
    }

    assert set() == users - ONLY_IN[library]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_heavy_modules_are_imported_inside_functions(package):
    workers = ROOT / "fitness" / "workers"  # programs of their own, never imported
    heavy = sorted(
        (path.name, name)
        for path in modules(package)
        if workers not in path.parents
        for name in imports(path, top_level=True)
        if name.split(".")[0] in HEAVY
    )

    assert [] == heavy


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_importing_a_package_loads_nothing_heavy(package):
    code = f"import sys, {package}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()


@pytest.mark.parametrize("package", ["llm", "fitness", "operators", "evolve"])
def test_libraries_load_no_hydra_and_no_figures(package):
    names = ("hydra", "matplotlib", "rich", "pandas")
    code = f"import sys, {package}; print([name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()


def test_what_every_program_with_hydra_loads_is_light():
    """Hydra imports its plugins in all programs of an environment, also in those that are not ours."""
    code = (
        "import sys; from hydra.core.plugins import Plugins; Plugins.instance(); "
        "print('hydra_plugins.kernelwright.ray_launcher' in sys.modules, "
        "[name for name in ('ray', 'optuna', 'experiments', 'fitness') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "True []" == done.stdout.strip()


def test_only_the_composition_root_instantiates():
    users = {path.name for path in modules("experiments") if "instantiate(" in path.read_text()}

    assert {"build.py"} == users


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_module_has_a_name_that_says_nothing(package):
    nothing = {"utils", "util", "helpers", "common", "misc", "base", "core", "manager", "registry", "factory"}

    assert set() == nothing & {path.stem for path in modules(package)}


def test_a_fault_and_a_signal_end_every_program_in_one_line():
    """`faults.main` also lets a program that is stopped put away its processes and folders."""
    programs = [path for path in modules("experiments") if '__name__ == "__main__"' in path.read_text()]
    bare = [
        path.name for path in programs if not re.search(r"faults\.main\(|exit\(answer\(|import main", path.read_text())
    ]

    assert programs
    assert [] == bare


@pytest.mark.parametrize("package", ["evolve", "experiments"])
def test_records_are_written_as_strict_json_in_one_place(package):
    calls = {
        path.name
        for path in modules(package)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("json.dump", "json.dumps")
    }

    assert ({"strict_json.py"} if package == "evolve" else set()) == calls
