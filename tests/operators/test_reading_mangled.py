"""Whatever is done to an answer: reading it raises nothing, and a diff is applied whole or not at all."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.reading import Outcome, read_answer
from reading_samples import CHILD, CPP, NEW, OLD, PARENT, TRITON, edit

FIRST_OLD, FIRST_NEW = "        float total = 0.0f;", "        float total = 0.0f, scale = 1.0f;"
BOTH = CHILD.replace(FIRST_OLD, FIRST_NEW)
TWO_EDITS = edit(FIRST_OLD, FIRST_NEW) + edit(OLD, NEW)
PIECES = [
    f"```cpp\n{CHILD}```\n",
    f"~~~\n{PARENT}~~~\n",
    "```python\nimport torch\n\ndef kernel_fn(x):\n    return x\n```\n",
    TWO_EDITS,
    "<think>",
    "</think>",
    "```\n",
    "~~~\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    "<<<<<<< SEARCH\n",
    "@@ -1,2 +1,2 @@\n-a\n+b\n",
    "// ... rest unchanged\n",
    "Some words about the kernel.\n",
    "\u201cquoted\u201d \u2013 text\u00a0\u200b\n",
    "&lt;b&gt; &amp;&amp; &quot;\n",
    "\x00\x07\ud800\n",
    'R"(',
    '"unclosed',
    "/* unclosed",
    "\r\n",
    "{" * 50,
    "(" * 50,
]


@st.composite
def mangled(draw: st.DrawFn, base: str) -> str:
    """Cuts, repeats, swaps and sprinkles a text."""
    text = base
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 200)))
        text = draw(
            st.sampled_from(
                [
                    text[:start] + text[end:],
                    text[:end] + text[start:],
                    text[:start] + draw(st.sampled_from(PIECES)) + text[start:],
                    text[:start] + draw(st.text(max_size=8)) + text[end:],
                    text[:start],
                    text.replace("\n", "\r\n"),
                    text.replace("    ", "\t"),
                ]
            )
        )
    return text


answers = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    mangled(f"```cpp\n{CHILD}```\n"),
    mangled(TWO_EDITS),
)


@settings(max_examples=400, deadline=None)
@given(answers, st.sampled_from(["full", "diff"]), st.sampled_from(["stop", "length", "tool_calls"]), st.booleans())
def test_reading_never_raises(text, mode, finish_reason, python) -> None:
    reading = read_answer(text, TRITON if python else CPP, PARENT, mode, finish_reason)
    assert (reading.outcome is Outcome.PARSED) == (reading.source is not None)


@settings(max_examples=400, deadline=None)
@given(mangled(TWO_EDITS), st.sampled_from(["stop", "length"]))
def test_the_second_edit_is_never_applied_without_the_first(text, finish_reason) -> None:
    """The two edits stand in this order in what is mangled, so a source with one of them alone is half an edit.

    It may hold one alone only when the mangled text itself does not ask for both.
    """
    reading = read_answer(text, CPP, PARENT, "diff", finish_reason)
    asked = text.count("<<<<<<< SEARCH")
    if reading.source is not None and TWO_EDITS in text.replace("\r\n", "\n") and asked == 2:
        assert BOTH == reading.source


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([(FIRST_OLD, FIRST_NEW), (OLD, NEW), ("not there", "x"), ("for (long j", "x")]),
        min_size=1,
        max_size=4,
    )
)
def test_edits_apply_together_or_not_at_all(edits) -> None:
    reading = read_answer("".join(edit(*each) for each in edits), CPP, PARENT, "diff")
    applicable = len(set(edits)) == len(edits) and all(old in (FIRST_OLD, OLD) for old, _ in edits)
    expected = PARENT
    for old, new in edits:
        expected = expected.replace(old, new)
    assert (expected if applicable else None) == reading.source


@pytest.fixture
def patience() -> Iterator[None]:
    """Ends a test that would go on for minutes."""

    def end(*_: object) -> None:
        raise TimeoutError("it is still reading")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(
    "token", ["kernel(", "\n", "<", 'R"', 'R"(', 'extern "C" {', "def ", "...\n", "kernel(){", "# "]
)
def test_one_thing_said_over_and_over_does_not_hold_the_search_up(token) -> None:
    """What a model gets stuck in; the first four took minutes each."""
    inside = CHILD.replace("float total", (token * 90_000)[:90_000] + "\nfloat total", 1)
    for text in (token * 30_000, f"```cpp\n{inside}```"):
        assert isinstance(read_answer(text, CPP, PARENT, "diff").outcome, Outcome)
