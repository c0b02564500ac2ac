import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fitness.tasks
from fitness import Kernel
from fitness.languages import Cpp, Cuda, OpenCL, Triton
from operators import Brief, Memory, SyntacticCrossover, SyntacticMutation
from operators.syntax import Edit, parse
from operators.syntax.edits import KINDS, WEIGHTS
from operators.syntax.signature import signature

SEEDS = Path(fitness.tasks.__file__).parent / "seeds"
LANGUAGES = {"cpp": Cpp(), "cuda": Cuda(), "opencl": OpenCL(), "python": Triton()}
GRAMMARS = {".cpp": "cpp", ".cu": "cuda", ".hip": "cuda", ".cl": "opencl", ".py": "python"}
BASELINES = "_torch.py"  # what kernels are compared with, and no search starts from
FILES = sorted(path for path in SEEDS.iterdir() if path.suffix in GRAMMARS and not path.name.endswith(BASELINES))
MATMUL = (SEEDS / "matmul.cpp").read_text()


@dataclass(frozen=True)
class Founder:
    kernel: Kernel
    evaluation: object = None


def parent_of(source: str, entry_point: str = "kernel") -> Founder:
    return Founder(Kernel(source, "cpp", entry_point))


def brief(grammar: str = "cpp", *ancestors: str) -> Brief:
    memory = Memory(ancestors=tuple(map(parent_of, ancestors)))
    return Brief(None, None, LANGUAGES[grammar], memory=memory)


def mutant(source: str, seed: int, grammar: str = "cpp", **knobs) -> str:
    operator = SyntacticMutation(more_edits=0.0, **knobs)
    return operator.propose([parent_of(source)], brief(grammar, source), np.random.default_rng(seed)).kernel.source


@functools.cache
def fragments() -> list[str]:
    texts = [path.read_text() for path in FILES]
    words = [
        "",
        "\0",
        "\r\n",
        "é",
        "#pragma omp simd\n",
        "for (int i = 0; i < n; ++i) ;",
        "{",
        "}",
        "(",
        "<<<",
        '"',
        "\\",
    ]
    return [*texts, *words, *(line for text in texts for line in text.splitlines(keepends=True))]


broken = st.lists(st.one_of(st.sampled_from(fragments()), st.text(max_size=20)), max_size=12).map("".join)


@settings(max_examples=60, deadline=None)
@given(source=broken, grammar=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 2**32))
def test_any_text_gives_a_sound_mutant_or_none(source, grammar, seed):
    operator = SyntacticMutation()
    proposal = operator.propose([parent_of(source)], brief(grammar), np.random.default_rng(seed))

    assert_sound(proposal, source, grammar)


@settings(max_examples=40, deadline=None)
@given(
    sources=st.tuples(broken, broken, broken),
    grammar=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 2**32),
)
def test_any_two_texts_give_a_sound_child_or_none(sources, grammar, seed):
    first, second, ancestor = sources
    parents = [parent_of(first), parent_of(second)]
    proposal = SyntacticCrossover().propose(parents, brief(grammar, ancestor), np.random.default_rng(seed))

    assert_sound(proposal, first, grammar)


def assert_sound(proposal, source, grammar):
    if proposal.kernel is None:
        assert "no_edit" == proposal.outcome
        return
    before, after = parse(source, grammar), parse(proposal.kernel.source, grammar)

    assert source != proposal.kernel.source
    assert before.num_errors >= after.num_errors
    assert signature(before, "kernel") == signature(after, "kernel")


@pytest.mark.parametrize(
    "kind", sorted({(grammar, name) for grammar in KINDS for name in KINDS[grammar]}), ids="-".join
)
@settings(max_examples=6, deadline=None)
@given(source=broken, seed=st.integers(0, 2**32))
def test_no_kind_raises_and_what_it_leaves_alone_stays(kind, source, seed):
    grammar, name = kind
    tree = parse(source, grammar)
    edit = KINDS[grammar][name](tree, np.random.default_rng(seed))

    if edit is not None:
        kept = [tree.source[start:end] for start, end in between(edit, len(tree.source))]
        assert_holds(edit.apply(tree.source), kept)


@pytest.mark.parametrize(
    ("grammar", "source"), [("python", "x = 1e100"), ("cpp", "void f(float* a) { a[0] = 1e100; }")]
)
def test_a_number_that_float32_does_not_hold_stays(grammar, source):
    tree = parse(source, grammar)
    edits = [KINDS[grammar]["constant"](tree, np.random.default_rng(seed)) for seed in range(20)]

    assert not any(b"inf" in text for edit in edits if edit is not None for _, _, text in edit.replacements)


def between(edit: Edit, length: int) -> list[tuple[int, int]]:
    position, spans = 0, []
    for start, end, _ in sorted(edit.replacements, key=lambda each: each[:2]):
        spans.append((position, start))
        position = end
    return [*spans, (position, length)]


def assert_holds(text: bytes, pieces: list[bytes]) -> None:
    position = 0
    for piece in pieces:
        position = text.find(piece, position)
        assert position >= 0
        position += len(piece)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_seed_kernel_has_many_different_mutants(path):
    grammar = GRAMMARS[path.suffix]
    mutants = {mutant(path.read_text(), seed, grammar) for seed in range(40)}

    assert len(mutants) >= 15


def test_the_same_generator_gives_the_same_mutant():
    assert mutant(MATMUL, 5) == mutant(MATMUL, 5)


def test_another_generator_gives_another_mutant():
    assert 1 < len({mutant(MATMUL, seed) for seed in range(5)})


def test_a_seed_gets_several_edits_and_its_children_one():
    operator = SyntacticMutation(initial_edits=3, more_edits=0.0)
    first = operator.propose([parent_of(MATMUL)], brief(), np.random.default_rng(0))
    later = operator.propose([parent_of(MATMUL)], brief("cpp", MATMUL), np.random.default_rng(0))

    assert (3, 1) == (len(first.note.split("; ")), len(later.note.split("; ")))


def test_a_kind_that_is_switched_off_is_never_drawn():
    notes = {
        SyntacticMutation({"fission": 0.0}, kinds=["tile", "fission"], more_edits=0.0)
        .propose([parent_of(MATMUL)], brief("cpp", MATMUL), np.random.default_rng(seed))
        .note.split(":")[0]
        for seed in range(10)
    }

    assert {"tile"} == notes


def test_a_source_without_anything_to_edit_gives_no_kernel():
    proposal = SyntacticMutation().propose([parent_of("")], brief(), np.random.default_rng(0))

    assert (None, "no_edit") == (proposal.kernel, proposal.outcome)


def test_a_source_that_no_file_can_hold_gives_no_kernel():
    proposal = SyntacticMutation().propose([parent_of(MATMUL + "\ud800")], brief(), np.random.default_rng(0))

    assert (None, "no_edit") == (proposal.kernel, proposal.outcome)


def test_edits_do_not_grow_a_source_beyond_its_limit():
    source = MATMUL
    for seed in range(60):
        source = mutant(source, seed, max_source_bytes=3000)

    assert len(source) <= 3000


def test_line_ends_stay_those_of_the_source():
    windows = MATMUL.replace("\n", "\r\n")

    assert 0 == sum(mutant(windows, seed).replace("\r\n", "").count("\n") for seed in range(30))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"weights": {"teleport": 1.0}}, "'teleport' is no kind of edit"),
        ({"kinds": ["teleport"]}, "'teleport' is no kind of edit"),
        ({"kinds": []}, "at least one must be positive"),
        ({"weights": {"tile": -1.0}}, "none negative"),
        ({"weights": {"tile": float("nan")}}, "or not finite"),
        ({"weights": dict.fromkeys(WEIGHTS, 0.0)}, "at least one must be positive"),
        ({"initial_edits": 0}, "initial_edits must be at least 1"),
        ({"more_edits": 1.0}, "more_edits in"),
        ({"max_source_bytes": 0}, "max_source_bytes positive"),
    ],
)
def test_wrong_knobs_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        SyntacticMutation(**knobs)


def child(first: str, second: str, ancestors: tuple[str, ...], seed: int) -> str | None:
    parents = [parent_of(first), parent_of(second)]
    proposal = SyntacticCrossover().propose(parents, brief("cpp", *ancestors), np.random.default_rng(seed))
    return proposal.kernel.source if proposal.kernel else None


def test_crossover_joins_edits_of_both_parents():
    first = MATMUL.replace("i++", "i += 1")
    second = MATMUL.replace("k++", "k += 1")
    both = MATMUL.replace("i++", "i += 1").replace("k++", "k += 1")

    assert both in {child(first, second, (MATMUL,), seed) for seed in range(10)}


def test_crossover_keeps_what_both_parents_have():
    shared = MATMUL.replace("0.0f", "0.5f")
    first, second = shared.replace("i++", "i += 1"), shared.replace("k++", "k += 1")
    children = [child(first, second, (MATMUL,), seed) for seed in range(10)]

    assert all("0.5f" in each for each in children if each is not None and "c = a b" in each and each.count("for") == 3)


def test_crossover_returns_neither_parent_nor_ancestor():
    first, second = mutant(MATMUL, 1), mutant(MATMUL, 2)
    children = {child(first, second, (MATMUL,), seed) for seed in range(20)}

    assert set() == children & {first, second, MATMUL}


def test_crossover_works_without_ancestors():
    first, second = (SEEDS / "softmax.cpp").read_text(), (SEEDS / "layer_norm.cpp").read_text()

    assert any(child(first, second, (), seed) for seed in range(5))


def test_crossover_of_a_kernel_with_itself_gives_no_kernel_or_another_one():
    assert MATMUL not in {child(MATMUL, MATMUL, (), seed) for seed in range(5)}


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_wrong_share_is_refused(share):
    with pytest.raises(ValueError, match="min_shared"):
        SyntacticCrossover(share)
