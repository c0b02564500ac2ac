"""How a kernel is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from .kernel import Kernel
from .target import Target

Kind = Literal["shared_object", "python_module", "source"]


@dataclass(frozen=True, slots=True)
class Need:
    """Something that many builds share: made once, kept by content, read-only for whoever uses it.

    A build that has to do without it gives the same artifact, only later.

    Attributes:
        name: What it is, e.g. ``"headers"``.
        files: Texts to be written before, by file name.
        argv: The command that makes it.
        use: Arguments that a build's command gets when it is there; ``{folder}`` stands for where.
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
