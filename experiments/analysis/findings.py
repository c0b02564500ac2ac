"""What a comparison shows, in plain words, and what speaks against relying on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..statistics import detectable_effect, magnitude, smallest_p
from ..wording import count_text
from .comparison import Comparison, Rules, Verdict
from .scores import SATISFIED, WORDS
from .tables import Sweep

if TYPE_CHECKING:
    import pandas as pd

TOLD = 6
"""At most so many comparisons are told one by one; all are in the table."""


def paragraph(found: Sequence[Comparison], rules: Rules, metric: str) -> str:
    """Returns the result in one paragraph: effect, interval, corrected p and n of each comparison."""
    if not found:
        return "There is nothing to compare: no two arms have finished runs on a common task."
    opening = (
        []
        if rules.is_declared
        else ["EXPLORATORY: no comparison was declared before the runs, so this suggests and proves nothing."]
    )
    tasks = max(each.num_tasks for each in found)
    opening.append(
        f"Judged by {WORDS[metric].words}, on {count_text(tasks, 'task')}, "
        f"{'seed by seed' if rules.paired else 'with independent seeds'}:"
    )
    decided = [each for each in found if each.verdict in (Verdict.FIRST, Verdict.SECOND)]
    shown = found if len(found) <= TOLD else decided[:TOLD]
    sentences = [sentence(each, rules, len(found)) for each in shown]
    if len(found) > TOLD:
        sentences.append(_others(found, decided, len(shown)))
    return " ".join([*opening, *sentences, _power(found, rules)])


def sentence(each: Comparison, rules: Rules, count: int) -> str:
    """Returns one comparison in a sentence; only `Verdict.FIRST` and `Verdict.SECOND` are told as a win.

    Where neither arm is ahead, the arms and their numbers stand as they were declared.
    """
    flip = each.improvement < 0.5 and each.verdict not in (Verdict.UNDECIDED, Verdict.IMPOSSIBLE)
    winner, loser = (each.second, each.first) if flip else (each.first, each.second)
    numbers = _numbers(each, count, flip=flip)
    is_better = "is better than" if rules.is_declared else "looks better than"
    match each.verdict:
        case Verdict.FIRST | Verdict.SECOND:
            size = magnitude(each.improvement)
            return f"{winner} {is_better} {loser} ({size} effect: {numbers})."
        case Verdict.NEGLIGIBLE:
            return (
                f"{winner} and {loser} differ, but by less than the {100 * rules.minimum_effect:g} % "
                f"that were declared to matter ({numbers}): not a win."
            )
        case Verdict.MIXED:
            return f"{winner} wins more often than {loser}, but not on the mean ({numbers}): not a win for either."
        case Verdict.IMPOSSIBLE:
            return (
                f"Nothing can be said of {each.first} and {each.second}: with {each.num_first} and {each.num_second} "
                f"runs the smallest possible p is {p_text(min(1.0, each.smallest_p * count))}"
                f"{' after correction' if count > 1 else ''} ({numbers})."
            )
        case _:
            needed = (
                f"; an effect of this size would need {count_text(each.seeds_needed, 'seed')}"
                if each.seeds_needed
                else ""
            )
            return (
                f"No difference was shown between {each.first} and {each.second} ({numbers}), "
                f"which is no proof that there is none{needed}."
            )


def _numbers(each: Comparison, count: int, *, flip: bool) -> str:
    """Returns effect, interval, p and n."""
    improvement = 1.0 - each.improvement if flip else each.improvement
    parts = [
        f"probability of improvement {improvement:.2f}{_interval(each.improvement_interval, flip=flip, log=False)}"
    ]
    if each.ratio is not None:
        ratio = 1.0 / each.ratio if flip else each.ratio
        parts.append(f"factor {ratio:.3f}{_interval(each.ratio_interval, flip=flip, log=True)}")
    correction = f" after Holm's correction for {count} comparisons" if count > 1 else ""
    parts.append(f"p {_p_relation(each.p_corrected)}{correction}")
    parts.append(
        f"n = {each.num_second if flip else each.num_first} and {each.num_first if flip else each.num_second} runs"
    )
    return ", ".join(parts)


def _interval(interval: tuple[float, float] | None, *, flip: bool, log: bool) -> str:
    """Returns an interval in words, turned round where the arms are."""
    if interval is None:
        return " (no interval from single runs)"
    low, high = interval
    if flip:
        low, high = (1.0 / high, 1.0 / low) if log else (1.0 - high, 1.0 - low)
    digits = 3 if log else 2
    return f" (95 % interval {low:.{digits}f} to {high:.{digits}f})"


def _others(found: Sequence[Comparison], decided: Sequence[Comparison], shown: int) -> str:
    """Returns how the comparisons that are not told ended."""
    rest = len(decided) - shown
    more = f" The table has {rest} more." if rest else ""
    undecided = len(found) - len(decided)
    return (
        f"A better arm is shown by {len(decided)} of {count_text(len(found), 'comparison')}, none by {undecided}.{more}"
    )


def _power(found: Sequence[Comparison], rules: Rules) -> str:
    """Returns what the design could have found."""
    pairs = min(min(each.num_first, each.num_second) for each in found)
    effect = detectable_effect(pairs, alpha=rules.alpha / len(found))
    if effect >= 0.995:
        so_many = f", with {len(found)} comparisons," if len(found) > 1 else ""
        return f"A design of this size{so_many} finds only the very largest effects."
    return f"A design of this size finds a probability of improvement of {effect:.2f} or more four times out of five."


def p_text(p: float) -> str:
    """Returns a p-value with two significant digits."""
    return "below 0.0001" if p < 1e-4 else f"{p:.2g}"


def _p_relation(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"= {p:.2g}"


def warnings(sweep: Sweep, scored: pd.DataFrame, found: Sequence[Comparison], rules: Rules, budget: float) -> list[str]:
    """Returns what a reader must know before believing the comparison, one sentence each.

    Args:
        sweep: As it was loaded, with runs that nobody declared.
        scored: As `scores.score_runs` returns it, without these.
        found: The comparisons.
        rules: How they were decided.
        budget: Evaluations over which areas are taken.
    """
    return [
        *_about_declaration(sweep, rules),
        *_about_runs(scored),
        *_about_seeds(scored, rules),
        *_about_tasks(scored),
        *_about_budgets(scored, budget),
        *_about_measurement(scored, rules),
        *_about_start(sweep.declared_part(), scored),
        *(
            f"{each.first} and {each.second} have different numbers of runs: {each.num_first} and {each.num_second}."
            for each in found
            if each.num_first != each.num_second
        ),
    ]


def _about_declaration(sweep: Sweep, rules: Rules) -> list[str]:
    if sweep.experiment is None:
        return [
            "No experiment.yaml was stored before the first run: arms were told apart by what differs in their "
            "configuration, and all pairs were tested."
        ]
    said = [
        f"After the first run: {text}. Runs added in view of results make false positives more likely."
        for text in sweep.experiment.amendments
    ]
    if not rules.is_declared:
        said.append("The experiment declares no comparisons: all pairs were tested.")
    outside = int((~sweep.runs["declared"]).sum())
    if outside:
        said.append(
            f"{count_text(outside, 'run')} in the folder {'is' if outside == 1 else 'are'} not part of the experiment "
            "and left out."
        )
    return said


def _about_runs(scored: pd.DataFrame) -> list[str]:
    said = []
    for state in ("failed", "unfinished", "unreadable", "missing"):
        counts = scored.loc[scored["state"] == state, "arm"].value_counts()
        if len(counts):
            arms = ", ".join(f"{count} of {arm}" for arm, count in counts.sort_index().items())
            errors = scored.loc[(scored["state"] == state) & (scored["error"] != ""), "error"]
            first = f"; the first says: {errors.iloc[0]}" if len(errors) else ""
            said.append(f"{count_text(int(counts.sum()), 'run')} {state} and not compared ({arms}){first}.")
    finished = scored[scored["state"] == "finished"]
    untimed = int((~finished["is_timed"]).sum())
    if untimed:
        said.append(f"{count_text(untimed, 'finished run')} timed no kernel and has no score.")
    fallen = int((finished["is_verified"] & finished["verified"].isna()).sum())
    if fallen:
        said.append(
            f"The winner of {count_text(fallen, 'run')} did not stand up to re-verification and counts as the baseline."
        )
    return said


def _about_seeds(scored: pd.DataFrame, rules: Rules) -> list[str]:
    finished = scored[scored["state"] == "finished"]
    if not len(finished):
        return []
    fewest = int(finished.groupby(["arm", "task"]).size().min())
    tasks = finished["task"].nunique()
    least = smallest_p([(fewest, fewest)] * tasks, paired=rules.paired)
    if least >= rules.alpha:
        return [
            f"With {count_text(fewest, 'seed')} on {count_text(tasks, 'task')} "
            f"the smallest possible p is {p_text(least)}: nothing can be significant."
        ]
    return (
        ["There is one seed for each arm and task: chance in the search cannot be told from the arm."]
        if fewest == 1
        else []
    )


def _about_tasks(scored: pd.DataFrame) -> list[str]:
    finished = scored[scored["state"] == "finished"]
    tasks = finished.groupby("arm")["task"].agg(frozenset)
    if tasks.nunique() <= 1:
        return []
    common = sorted(frozenset.intersection(*tasks))
    return [
        f"Not all arms ran on the same tasks; those that all have: {', '.join(common) or 'none'}. "
        "Pairs are compared on what both have."
    ]


def _about_budgets(scored: pd.DataFrame, budget: float) -> list[str]:
    finished = scored[scored["state"] == "finished"]
    spent = finished.groupby("arm")["evaluations"].median()
    if len(spent) < 2 or spent.max() <= 1.05 * spent.min():
        return []
    low, high = spent.idxmin(), spent.idxmax()
    by_itself = finished.loc[finished["ended"].isin(SATISFIED), "arm"].value_counts().sort_index()
    ended = ", ".join(f"{count} of {arm}" for arm, count in by_itself.items())
    return [
        f"Arms spent different budgets: {low} {spent[low]:g} evaluations in the median, {high} {spent[high]:g}. "
        f"Areas are taken over {budget:g} evaluations"
        + (f"; runs that ended of their own accord keep their last kernel ({ended})." if ended else ".")
        + " Final speedups are not those of equal budgets."
    ]


def _about_start(sweep: Sweep, scored: pd.DataFrame) -> list[str]:
    """Speeds alone do not tell that arms start from other kernels: the same kernel is measured anew in every run."""
    seeds = sweep.evaluations[sweep.evaluations["operator"] == "seed"]
    if not len(seeds):
        return []
    runs = sweep.runs.loc[seeds["run"].to_numpy(), ["task", "arm"]].reset_index(drop=True)
    kernels = seeds.reset_index(drop=True).groupby([runs["task"], runs["arm"]])["kernel"].agg(frozenset)
    inherited = scored[scored["state"] == "finished"].groupby("arm")["inherited"].median()
    if kernels.groupby("task").nunique().max() == 1 or len(inherited) < 2 or inherited.max() <= 1.05 * inherited.min():
        return []
    return [
        "Arms do not start from equal kernels: the seeds' speedup is "
        f"{inherited.min():.2f} for {inherited.idxmin()} and {inherited.max():.2f} for {inherited.idxmax()}."
    ]


def _about_measurement(scored: pd.DataFrame, rules: Rules) -> list[str]:
    finished = scored[scored["state"] == "finished"]
    said = []
    floor = finished["noise_floor"].median()
    if rules.is_log and not np.isnan(floor) and floor > rules.minimum_effect:
        said.append(
            f"The machine's noise floor is {100 * floor:.1f} %, above the smallest effect of interest "
            f"({100 * rules.minimum_effect:g} %)."
        )
    verified = finished["is_verified"]
    if verified.any() and not verified.all():
        said.append(
            "Some winners were judged anew and some were not; for the latter the search's own measurement counts."
        )
    return said
