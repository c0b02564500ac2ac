"""Kernels that cheat, and honest ones that look as if they did, through the real evaluator.

The first line of a file in ``adversarial/`` says what must become of it:
``// expect: <status>[|<status>] task=<task> [max_speedup=<ratio>] [secret=<text>] [tries=<n>]  <what it does>``.
Cheats that meddle with time alone may be ``ok``, if the lie does them no good: ``max_speedup`` lies far
above what the kernel is worth and far below what it claims. ``secret`` must not be in the log. ``tries`` is above one
where a cheat waits for a moment that a busy machine may not offer: it is asked again, and must be caught when it acts.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fitness import Evaluator, Kernel, MachineError, Status, tasks
from fitness.languages import Cpp
from fitness.targets import Cpu

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

FOLDER = Path(__file__).parent / "adversarial"
SETTINGS = {"build_timeout_s": 6.0, "run_timeout_s": 2.0, "min_pairs": 4, "max_pairs": 8, "time_limit_s": 0.05}
# A busy machine may leave one block a workload; a kernel that shirks one call in four must not pass by luck then.
SETTINGS["judged_calls"] = 16
TASKS = {each.name: each for each in (getattr(tasks, name) for name in tasks.__all__) if each is not tasks.TensorTask}
ATTEMPTS = 4


@dataclass(frozen=True)
class Case:
    """One file of the suite."""

    name: str
    source: str
    statuses: frozenset[Status]
    task: str
    max_speedup: float
    secret: str
    tries: int

    @classmethod
    def read(cls, path):
        source = path.read_text()
        first = source.splitlines()[0]
        fields = dict(re.findall(r"\b(task|max_speedup|secret|tries)=(\S+)", first))
        statuses = re.match(r"// expect: (\S+) task=", first).group(1).split("|")
        return cls(
            path.stem,
            source,
            frozenset(Status(each) for each in statuses),
            fields["task"],
            float(fields.get("max_speedup", "inf")),
            fields.get("secret", ""),
            int(fields.get("tries", "1")),
        )


CASES = [Case.read(path) for path in sorted(FOLDER.glob("*.cpp"))]
HANGING = {Status.RUN_TIMEOUT, Status.BUILD_TIMEOUT}


def retried(job):
    """A machine that is too busy for a moment is no verdict, so the question is asked again."""
    for attempt in range(ATTEMPTS):
        try:
            return job()
        except MachineError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError


@functools.cache
def judge_of(task):
    evaluator = Evaluator(TASKS[task](), Cpu(), Cpp(), **SETTINGS)
    calibration = retried(evaluator.calibrate)
    return lambda source: retried(lambda: evaluator.evaluate(Kernel(source, "cpp"), calibration))


def faults(case, evaluation):
    found = []
    if evaluation.status not in case.statuses:
        found.append(f"{evaluation.status}, not {'|'.join(sorted(case.statuses))}: {evaluation.log[:500]}")
    if evaluation.speedup is not None and evaluation.speedup > case.max_speedup:
        found.append(f"a speedup of {evaluation.speedup:.3g} was believed, {case.max_speedup:g} at most is true")
    if case.secret and case.secret in evaluation.log:
        found.append("the log holds text of a foreign file")
    if len(evaluation.log) > 40_000:
        found.append(f"the log has {len(evaluation.log)} characters")
    return found


def verdict_faults(case):
    """What is wrong with the verdict on a case, in the best of its tries."""
    judge = judge_of(case.task)
    found = ["not tried"]
    for _ in range(case.tries):
        found = found and faults(case, judge(case.source))
    return found


def leftovers():
    """Names of living processes that a cheat of ours left behind on purpose."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = path.read_text().strip()
        except OSError:
            continue
        if name == "kw-leftover":
            found.append(path.parent.name)
    return found


def test_the_suite_is_as_large_as_promised():
    honest = [case.name for case in CASES if case.name.startswith("ok_")]
    assert len(honest) >= 18
    assert len(CASES) - len(honest) >= 75


def test_every_numbered_cheat_names_its_catalogue_entry():
    numbered = [case for case in CASES if re.match(r"a\d\d_", case.name)]
    assert [] == [case.name for case in numbered if f"{case.name[:3].upper()}" not in case.source.splitlines()[0]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict_alone(case):
    assert [] == verdict_faults(case)


CONTROLS = ["ok_macros", "ok_static_scratch", "ok_recursion", "a12_one_tile_missing", "a08_zeros", "a16_nan"]


def test_verdicts_do_not_move_in_a_random_order_among_controls():
    """What a cheat leaves behind would show in the verdict of the control that comes next."""
    by_name = {case.name: case for case in CASES}
    quick = [case for case in CASES if case.statuses.isdisjoint(HANGING)]
    order = np.random.default_rng(20).permutation(len(quick))
    controls = [by_name[name] for name in CONTROLS]
    descriptors = len(os.listdir("/proc/self/fd"))
    found = {}
    for turn, index in enumerate(order):
        for case in (quick[index], controls[turn % len(controls)]):
            problems = verdict_faults(case)
            if problems:
                found[f"{turn}: {case.name} after {quick[order[turn - 1]].name}"] = problems
    assert {} == found
    assert [] == leftovers()
    assert descriptors == len(os.listdir("/proc/self/fd"))
