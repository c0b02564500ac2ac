"""From parents, problem and switches to the messages that a model is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template

from llm import Message, Section

from .contract import Contract
from .describing import profile, sizes, timing
from .ingredients import Ingredients
from .operator import Brief, Parent
from .retrieval import Library

PARENT, MEMORY, INSPIRATION, LOG = 1, 2, 3, 4
"""Which sections are cut first when a prompt is too long: the highest."""


@cache
def text(name: str) -> str:
    """Returns a prompt text that ships with the package.

    Raises:
        FileNotFoundError: There is none of this name.
    """
    return files(__package__).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").strip()


def filled(name: str, **values: str) -> str:
    """Returns a prompt text with its ``$names`` replaced."""
    return Template(text(name)).substitute(values)


@cache
def advice(language: str) -> str:
    """Returns what ships on writing kernels in a language; empty where there is nothing."""
    file = files(__package__).joinpath("prompts", f"advice_{language}.txt")
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


class Page:
    """A message under construction, whose parts remember where they stand and how dear they are."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._sections: list[Section] = []
        self._length = 0

    def add(self, part: str, name: str = "", priority: int = 0, whole: bool = False) -> None:
        """Appends a paragraph; one with a priority may be cut."""
        if not part:
            return
        start = self._length
        self._parts.append(part + "\n\n")
        self._length += len(part) + 2
        if priority:
            self._sections.append(Section(name, start, start + len(part), priority, whole))

    def message(self) -> Message:
        """Returns the user's message."""
        content = "".join(self._parts).rstrip("\n")
        sections = [section for section in self._sections if section.end <= len(content)]
        return Message("user", content, tuple(sections))


def messages(
    parents: Sequence[Parent],
    brief: Brief,
    wanted: Contract,
    ingredients: Ingredients,
    *,
    instruction: str,
    library: Library | None = None,
) -> tuple[Message, ...]:
    """Writes a prompt.

    Args:
        parents: Shown in the order of use.
        brief: The problem, the machine and the memory.
        wanted: The kernel's outside.
        ingredients: What is told.
        instruction: What is to be done, and in which form the answer must come; stands at the end.
        library: Where documents are retrieved from, if any are wanted.
    """
    page = Page()
    if ingredients.task:
        page.add(f"# Task: {brief.task.name}\n\n{brief.task.description}\n\nTimed sizes: {sizes(brief.task)}.")
    page.add("# Interface\n\n" + outside(wanted, brief))
    if ingredients.hardware and brief.hardware:
        facts = "\n".join(f"- {name}: {value}" for name, value in sorted(brief.hardware.items()))
        page.add(f"# Hardware\n\n{facts}", "hardware", INSPIRATION)
    if ingredients.knowledge and library is not None:
        for document in library.retrieve(brief, parents, ingredients.knowledge):
            page.add(
                f"# Good to know: {document.title}\n\n{document.body}", f"document {document.name}", INSPIRATION, True
            )
    _add_memory(page, parents, brief, wanted, ingredients)
    for index, parent in enumerate(parents):
        title = f"Kernel {index + 1}" if len(parents) > 1 else "Kernel"
        _add_parent(page, parent, brief, wanted, title=title, ingredients=ingredients)
    page.add("# What to do\n\n" + instruction)
    return Message("system", filled("system", title=wanted.title)), page.message()


def outside(wanted: Contract, brief: Brief) -> str:
    """Returns the contract in words."""
    name = "contract_python" if wanted.family == "python" else "contract_c" if wanted.parameters else "contract_other"
    name = f"contract_{wanted.language}" if wanted.language in {"numba", "opencl"} else name
    values: Mapping[str, str] = {
        "title": wanted.title,
        "signature": wanted.signature,
        "axes": ", ".join(brief.task.axes),
        "inputs": ", ".join(_typed(name, brief.task.inputs[name]) for name in wanted.inputs),
        "outputs": ", ".join(_typed(name, brief.task.outputs[name]) for name in wanted.outputs),
    }
    return filled(name, **values)


def _typed(name: str, spec: object) -> str:
    dtype, shape = getattr(spec, "dtype", ""), getattr(spec, "shape", ())
    return f"{name} ({dtype}, [{', '.join(map(str, shape))}])"


def block(source: str, wanted: Contract) -> str:
    """Returns a source between fences that it does not contain itself."""
    fence = "````" if "```" in source else "```"
    return f"{fence}{wanted.fence}\n{source.strip()}\n{fence}"


def _add_parent(
    page: Page, parent: Parent, brief: Brief, wanted: Contract, *, title: str, ingredients: Ingredients
) -> None:
    evaluation = parent.evaluation
    log = evaluation.log.strip() if ingredients.log else ""
    parts = [
        (block(parent.kernel.source, wanted), "parent", PARENT)
        if ingredients.source and parent.kernel.source.strip()
        else None,
        (timing(evaluation), "", 0) if ingredients.time else None,
        (f"Profile:\n{facts}", "profile", MEMORY)
        if ingredients.profile and (facts := profile(evaluation, brief.task))
        else None,
        (f"Messages:\n{log}", "log", LOG) if log else None,
    ]
    told = [part for part in parts if part is not None]
    if told:
        page.add(f"# {title}")
    for part in told:
        page.add(*part)


def _add_memory(
    page: Page, parents: Sequence[Parent], brief: Brief, wanted: Contract, ingredients: Ingredients
) -> None:
    shown = {parent.kernel.digest for parent in parents}
    memory = brief.memory
    notes = list(memory.notes)[-ingredients.notes :] if ingredients.notes else []
    if notes:
        page.add("# Learned so far\n\n" + "\n".join(notes), "notes", INSPIRATION)
    siblings = list(reversed(memory.siblings))
    for name, title, members, most in (
        ("elite", "A good kernel of this run", list(memory.elites), ingredients.elites),
        ("ancestor", "An earlier version", list(memory.ancestors), ingredients.ancestors),
        ("sibling", "Another attempt from the same kernel", siblings, ingredients.siblings),
    ):
        unseen = [member for member in members if member.kernel.digest not in shown and member.kernel.source.strip()]
        for member in unseen[:most]:
            shown.add(member.kernel.digest)
            priority = INSPIRATION if name == "elite" else MEMORY
            told = f"# {title}\n\n{block(member.kernel.source, wanted)}\n\n{timing(member.evaluation)}"
            page.add(told, name, priority, True)
