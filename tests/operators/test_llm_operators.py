from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fitness import Status
from llm import Completion, Message, Request, RequestTimeout, ScriptedClient
from operator_samples import cpp_brief, failed, timed
from operators import (
    Brief,
    LLMCrossover,
    LLMDraft,
    LLMMutation,
    LLMReflection,
    LLMRepair,
    LLMScratch,
    LLMUniversal,
    Memory,
    Proposal,
)

PARENT = timed()
CHILD = PARENT.kernel.source.replace("float total", "float sum_of_row").replace("total", "sum_of_row")
REPLY = f"```cpp\n{CHILD}```"
BROKEN = failed(
    Status.BUILD_FAILED, "kernel.cpp:3:5: error: 'foo' was not declared in this scope", "void foo_kernel() {}\n"
)


def run(operator, parents, reply: object = REPLY, **more) -> tuple[Proposal, list[Request]]:
    client = ScriptedClient([reply])
    brief = cpp_brief(client=client, **more)
    return operator.propose(parents, brief, np.random.default_rng(7)), client.requests


def prompt(operator, parents, **more) -> str:
    return run(operator, parents, **more)[1][-1].messages[1].content


OPERATORS = [LLMDraft(), LLMScratch(), LLMMutation(), LLMMutation(mode="diff"), LLMCrossover(), LLMCrossover(arity=3)]
OPERATORS += [LLMRepair(), LLMUniversal(), LLMUniversal(arity=0), LLMUniversal(arity=2), LLMReflection()]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: f"{operator.name}-{operator.arity}")
def test_an_operator_turns_a_reply_into_a_kernel(operator) -> None:
    parents = [timed(source=PARENT.kernel.source + "\n" * i) for i in range(operator.arity)]
    proposal, requests = run(operator, parents)
    assert proposal.kernel is not None
    told = (proposal.kernel.source.split(), proposal.kernel.language, proposal.operator, proposal.outcome)
    assert (CHILD.split(), "cpp", operator.name, "parsed") == told
    assert tuple(request.digest for request in requests) == proposal.requests
    assert tuple(parent.kernel.digest for parent in parents) == proposal.parents


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: f"{operator.name}-{operator.arity}")
def test_the_same_stream_asks_the_same_and_another_does_not(operator) -> None:
    def digests(seed: int) -> tuple[str, ...]:
        brief = cpp_brief(client=ScriptedClient([REPLY]))
        return operator.propose([PARENT] * operator.arity, brief, np.random.default_rng(seed)).requests

    assert (True, False) == (digests(1) == digests(1), digests(1) == digests(2))


def test_a_reply_without_code_is_data() -> None:
    proposal, _ = run(LLMMutation(), [PARENT], "I am sorry.")
    assert (None, "no_code", "there is no code in the answer") == (proposal.kernel, proposal.outcome, proposal.note)


def test_a_cut_off_reply_is_named() -> None:
    proposal, _ = run(LLMMutation(), [PARENT], Completion(REPLY[:-60], finish_reason="length"))
    assert "truncated" == proposal.outcome


def test_tokens_are_charged() -> None:
    proposal, _ = run(LLMMutation(), [PARENT], Completion(REPLY, prompt_tokens=100, completion_tokens=20))
    assert 120 == proposal.tokens


def test_a_request_that_fails_for_good_is_data() -> None:
    class Late:
        def complete(self, request: Request) -> Completion:
            raise RequestTimeout("no whole answer within 1 s", request)

    proposal = LLMMutation().propose([PARENT], cpp_brief(client=Late()), np.random.default_rng(0))
    assert ("request_timeout", "no whole answer within 1 s") == (proposal.outcome, proposal.note)


def test_without_a_model_the_message_says_what_to_choose() -> None:
    with pytest.raises(ValueError, match="llm_mutation needs a model: choose llm=server or llm=vllm"):
        LLMMutation().propose([PARENT], cpp_brief(), np.random.default_rng(0))


def test_the_arm_that_answered_is_passed_on() -> None:
    proposal, _ = run(LLMMutation(), [PARENT], Completion(REPLY, arm="warm"))
    assert "warm" == proposal.arm


def test_sampling_reaches_the_request() -> None:
    sampling = {"temperature": 0.3, "top_p": 0.9, "max_tokens": 77, "model": "big", "extra": {"top_k": 3}}
    _, requests = run(LLMMutation(sampling=sampling), [PARENT])
    request = requests[0]
    told = (request.temperature, request.top_p, request.max_tokens, request.model, request.extra)
    assert (0.3, 0.9, 77, "big", {"top_k": 3}) == told


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampling": {"temperature": 3}}, "temperature must lie in 0"),
        ({"sampling": {"heat": 1}}, "sampling of llm_mutation.*heat"),
        ({"ingredients": {"smell": True}}, r"ingredients.smell: unknown; there are task, source"),
        ({"ingredients": {"elites": -1}}, "ingredients.elites must be 0 or more"),
        ({"mode": "half"}, "mode must be one of full, diff"),
        ({"context": "uncles"}, "context must be one of none, trajectory, siblings, both, clean"),
    ],
)
def test_wrong_settings_are_named(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        LLMMutation(**settings)


def test_the_contract_comes_from_the_task() -> None:
    text = prompt(LLMDraft(), [])
    assert 'extern "C" void kernel(const float* x, float* y, long M, long N)' in text
    assert PARENT.kernel.source not in text


@pytest.mark.parametrize(
    ("ingredients", "part", "present"),
    [
        ({}, "2.00 times as fast", True),
        ({"time": False}, "2.00 times as fast", False),
        ({"source": False}, "highest = x[i * N]", False),
        ({"task": False}, "# Task: softmax", False),
        ({"profile": True}, "GB/s", True),
        ({}, "GB/s", False),
        ({"hardware": False}, "4 cores", False),
        ({}, "4 cores", True),
        ({"elites": 1}, "elite_marker", True),
        ({}, "elite_marker", False),
        ({"ancestors": 1}, "ancestor_marker", True),
        ({"siblings": 1}, "sibling_marker", True),
        ({"notes": 2}, "- lesson two", True),
        ({"notes": 1}, "- lesson one", False),
        ({"knowledge": 1}, "# Good to know", True),
        ({"advice": True}, "let the compiler vectorise", True),
        ({}, "let the compiler vectorise", False),
    ],
)
def test_every_ingredient_is_a_switch(ingredients, part, present) -> None:
    memory = Memory(
        ancestors=[timed(1.1, "void ancestor_marker() {}")],
        siblings=[failed(Status.CRASHED, "signal 11", "void sibling_marker() {}")],
        elites=[timed(3.0, "void elite_marker() {}")],
        notes=["- lesson one", "- lesson two"],
    )
    text = prompt(LLMMutation(ingredients=ingredients), [PARENT], memory=memory, hardware={"processor": "4 cores"})
    assert present == (part in text)


def test_an_operator_asks_for_the_memory_that_it_reads_and_no_more() -> None:
    assert frozenset({"elites", "notes"}) == LLMMutation(ingredients={"elites": 2, "notes": 1}).memory


@pytest.mark.parametrize(
    ("context", "memory"),
    [
        ("none", set()),
        ("trajectory", {"ancestors"}),
        ("siblings", {"siblings"}),
        ("both", {"ancestors", "siblings"}),
        ("clean", set()),
    ],
)
def test_contexts_decide_what_is_inherited(context, memory) -> None:
    assert memory == LLMMutation(context=context).memory


def test_a_clean_slate_hides_the_parent() -> None:
    assert PARENT.kernel.source.strip() not in prompt(LLMMutation(context="clean"), [PARENT])


def test_the_control_says_nothing_of_the_parent() -> None:
    assert prompt(LLMScratch(), [PARENT]) == prompt(LLMScratch(), [timed(5.0, "void other() {}")])


def test_a_parent_is_not_shown_again_as_elite() -> None:
    text = prompt(LLMMutation(ingredients={"elites": 3}), [PARENT], memory=Memory(elites=[PARENT]))
    assert 1 == text.count(PARENT.kernel.source.strip())


def test_repair_shows_the_words_that_refused_the_kernel() -> None:
    text = prompt(LLMRepair(), [BROKEN])
    assert ("'foo' was not declared" in text, "the compiler refuses it" in text) == (True, True)


UNREAD = failed(Status.REJECTED, "the kernel is the parent's, to the letter: change something", "")


def test_repair_of_an_answer_that_was_not_read_tells_why() -> None:
    text = prompt(LLMRepair(mode="diff"), [UNREAD])
    assert "could not be used: the kernel is the parent's, to the letter: change something. Write" in text
    assert ("<<<<<<< SEARCH" in text, "# Kernel" in text) == (False, False)


def test_repair_takes_failures_and_mutation_does_not() -> None:
    assert (True, False) == (LLMRepair().takes_failures, LLMMutation().takes_failures)


def test_crossover_shows_all_parents() -> None:
    text = prompt(LLMCrossover(), [timed(2.0, "void first() {}"), timed(3.0, "void second() {}")])
    assert ["void first", "void second"] == sorted(part for part in ("void first", "void second") if part in text)


def test_crossover_needs_two() -> None:
    with pytest.raises(ValueError, match="arity of 2 or more"):
        LLMCrossover(arity=1)


def test_reflection_keeps_its_lesson_and_uses_it_at_once() -> None:
    client = ScriptedClient(["<think>hm</think>Lessons:\n- tiling by 64 helped\n```cpp\nno\n```", REPLY])
    proposal = LLMReflection().propose([PARENT], cpp_brief(client=client), np.random.default_rng(0))
    assert "- Lessons:\n- tiling by 64 helped" == proposal.lesson
    assert "- tiling by 64 helped" in client.requests[1].messages[1].content


def test_reflection_is_charged_for_both_requests() -> None:
    client = ScriptedClient([Completion("- a", prompt_tokens=5), Completion(REPLY, prompt_tokens=7)])
    assert 12 == LLMReflection().propose([PARENT], cpp_brief(client=client), np.random.default_rng(0)).tokens


def test_a_diff_is_asked_for_and_applied() -> None:
    reply = "<<<<<<< SEARCH\n        float total = 0.0f;\n=======\n        float total = 0.0F;\n>>>>>>> REPLACE\n"
    proposal, requests = run(LLMMutation(mode="diff"), [PARENT], reply)
    assert proposal.kernel is not None
    expected = PARENT.kernel.source.replace("float total = 0.0f", "float total = 0.0F")
    assert (expected, True) == (proposal.kernel.source, "<<<<<<< SEARCH" in requests[0].messages[1].content)


def test_an_own_instruction_replaces_the_words() -> None:
    assert "Use fewer divisions." in prompt(LLMMutation(instruction="Use fewer divisions."), [PARENT])


def _sections(message: Message) -> dict[str, str]:
    return {section.name: message.content[section.start : section.end] for section in message.sections}


def test_sections_stand_where_they_say() -> None:
    memory = Memory(elites=[timed(3.0, "void elite_marker() {}")])
    operator = LLMRepair(ingredients={"elites": 1})
    _, requests = run(operator, [BROKEN], memory=memory)
    sections = _sections(requests[0].messages[1])
    assert "'foo' was not declared" in sections["log"]
    assert "void foo_kernel" in sections["parent"]
    assert "elite_marker" in sections["elite"]


def test_logs_are_dearer_to_lose_than_nothing_else() -> None:
    memory = Memory(elites=[timed(3.0, "void elite_marker() {}")], siblings=[timed(1.0, "void sibling() {}")])
    _, requests = run(LLMRepair(ingredients={"elites": 1, "siblings": 1}), [BROKEN], memory=memory)
    sections = sorted(requests[0].messages[1].sections, key=lambda section: -section.priority)
    assert ["log", "parent"] == [sections[0].name, sections[-1].name]


def test_the_prompt_does_not_look_at_the_machine() -> None:
    """A replay on another machine must ask with the same words, so facts come from the brief alone."""

    class Elsewhere:
        name, arch, measures_time = "cpu", "native", True

        def describe(self) -> dict[str, str]:
            raise AssertionError("asked the machine")

    brief: Brief = replace(cpp_brief(client=ScriptedClient([REPLY])), target=Elsewhere())
    assert "parsed" == LLMMutation().propose([PARENT], brief, np.random.default_rng(0)).outcome
