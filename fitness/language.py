"""How a kernel is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from .kernel import Kernel
from .target import Target

Kind = Literal["shared_object", "python_module", "source"]

TARGETS = ("cpu", "nvidia", "amd", "interpret", "external", "mtia")
"""Names of our own targets."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something that many builds share: made once, kept by content, read-only for whoever uses it.

    A build that has to do without it gives the same artifact, only later.

    Attributes:
        name: What it is, e.g. ``"headers"``.
        files: Texts to be written before, by file name.
        argv: The command that makes it.
        use: Arguments that a build's command ends with when it is there; ``{folder}`` stands for where.
    """

    name: str
    files: Mapping[str, str]
    argv: tuple[str, ...]
    use: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Build:
    """A command that turns a source into an artifact. Running it is the evaluator's business.

    Attributes:
        argv: The command, to be run in the sandbox with ``workdir`` as current folder.
        artifact: What it produces, relative to ``workdir``.
        kind: ``"shared_object"`` with a C symbol, ``"python_module"`` with a function, or
            ``"source"`` that only the target's own toolchain can read.
        needs: What may be made beforehand, to be faster.
        reads: Folders that the command must read beside the system's.
        writes: Folders of the compiler's own that it may write beside ``workdir``; they must exist.
        environment: All variables of the command.
        has_proc: Whether the command needs ``/proc``.
    """

    argv: tuple[str, ...]
    artifact: Path
    kind: Kind
    needs: tuple[Need, ...] = ()
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    has_proc: bool = False


class Language(Protocol):
    """What a kernel is written in. Pure: it describes builds and never runs one.

    A language may name, as ``targets``, which of our targets it runs on; others are refused before anything starts.

    Attributes:
        name: As in configuration, e.g. ``"cpp"``.
        suffix: Of a source file, e.g. ``".cpp"``.
        grammar: The tree-sitter grammar of the syntactic operators: ``"cpp"`` or ``"python"``.
    """

    # Properties: an attribute of a protocol would have to be settable, and no frozen dataclass has those.
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def suffix(self) -> str: ...  # noqa: D102
    @property
    def grammar(self) -> str: ...  # noqa: D102

    def build(self, kernel: Kernel, target: Target, workdir: Path) -> Build:
        """Writes the source into ``workdir`` and returns the command that builds it."""
        ...

    def fingerprint(self, target: Target) -> str:
        """Returns compiler version and flags: all that the artifact depends on beside the source.

        Raises:
            ToolchainError: The compiler is missing; the message says what to install.
        """
        ...


def check_pair(language: Language, target: Target) -> None:
    """Refuses a language on one of our targets that it does not run on.

    A target of the user's own, or a language that names no targets, is let through: only building can tell.

    Raises:
        ValueError: It does not; the message names the targets that it has and what to type.
    """
    fitting: tuple[str, ...] = getattr(language, "targets", ())
    if not fitting or target.name in fitting or target.name not in TARGETS:
        return
    choices = " or ".join(f"target={name}" for name in fitting)
    raise ValueError(f"language={language.name} does not run on target={target.name}; choose {choices}")
