"""Languages whose compilers are not public; a target's external toolchain builds them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..kernel import Kernel
from ..language import Build
from ..target import Target


@dataclass(frozen=True)
class ExternalLanguage:
    """A source that goes to the external toolchain as it is.

    ``triton_mtia`` starts from the Triton seeds. ``mtia_cpp`` has none here, as its interface is not
    public: ``+task.seeds=FOLDER`` names a folder of your own.

    Attributes:
        name: ``"triton_mtia"``, ``"mtia_cpp"``, or a name of your own.
        suffix: Of a source file.
        grammar: Of the syntactic operators.
    """

    name: str = "mtia_cpp"
    suffix: str = ".cpp"
    grammar: str = "cpp"
    targets: tuple[str, ...] = ("external", "mtia")

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the source; the toolchain builds it when it is checked."""
        path = workdir / f"kernel{self.suffix}"
        path.write_text(kernel.source, encoding="utf-8")
        return Build(argv=(), artifact=Path(path.name), kind="source")

    def fingerprint(self, target: Target) -> str:
        """Returns the target's build command."""
        return f"external {' '.join(getattr(target, 'build', ()))} {target.arch}"
