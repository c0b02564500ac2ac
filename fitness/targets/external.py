"""Accelerators whose toolchains are not public: MTIA, and any other behind two commands."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import TargetUnavailable
from ..external import ExternalBench

MTIA_MODULES = ("mtia.host_runtime.torch_mtia.dynamic_library", "triton_mtia.python.mtia.eager")
"""Import names that public code uses for MTIA's toolchain; none of them is published."""

_BUILD_FIELDS, _RUN_FIELDS = ("source", "artifact", "arch"), ("artifact", "manifest", "arch")


@dataclass(frozen=True)
class External:
    """An accelerator with the capability *external toolchain*: see `fitness.external` for the protocol.

    Attributes:
        name: Of the target, in records.
        arch: What ``{arch}`` stands for in the commands.
        build: Command that builds ``{source}`` into ``{artifact}``.
        run: Command that runs ``{artifact}`` as ``{manifest}`` says.
        knowledge: A folder or file about the hardware, for people and for prompts.

    Raises:
        TargetUnavailable: ``build`` or ``run`` is not given, is no list of words, or has braces of which nothing is
            known.
    """

    name: str = "external"
    arch: str = "unknown"
    build: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    knowledge: str = ""
    measures_time: bool = True
    bench = ExternalBench

    def __post_init__(self) -> None:
        if not self.build or not self.run:
            raise TargetUnavailable(
                f"target={self.name} needs its toolchain: give two commands as target.build and target.run, e.g. "
                "target.build=\"[my-compiler,'{source}',-o,'{artifact}']\" "
                "target.run=\"[my-runner,'{artifact}','{manifest}']\""
            )

        for command, fields in (("build", _BUILD_FIELDS), ("run", _RUN_FIELDS)):
            _check_command(f"target.{command}", getattr(self, command), fields)

    def environment(self, device: int) -> dict[str, str]:
        """Returns nothing: the commands set up what they need."""
        return {}

    def describe(self) -> Mapping[str, str]:
        """Returns the commands and, for MTIA, which of the known modules are here."""
        found = [name for name in MTIA_MODULES if _exists(name)]
        knowledge = Path(self.knowledge)
        text = (
            knowledge.read_text(encoding="utf-8", errors="replace")
            if self.knowledge and knowledge.is_file()
            else self.knowledge
        )
        commands = {"build": " ".join(self.build), "run": " ".join(self.run), "modules": ", ".join(found) or "none"}
        return {"arch": self.arch, **commands, "knowledge": text}


def _check_command(key: str, command: Sequence[str], fields: Sequence[str]) -> None:
    """Checks the words of a command before anything is built with it."""
    if isinstance(command, str) or not all(isinstance(word, str) for word in command):
        raise TargetUnavailable(f"{key} must be a list of words, e.g. \"[my-compiler,'{{source}}']\"; got {command!r}")
    for word in command:
        try:
            word.format(**dict.fromkeys(fields, ""))
        except (LookupError, ValueError, AttributeError) as error:
            known = ", ".join(f"{{{field}}}" for field in fields)
            raise TargetUnavailable(f"{key}: {word!r}: write {known}, and other braces twice") from error


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
