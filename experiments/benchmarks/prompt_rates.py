"""How many of a prompt's answers are valid kernels, and how many times as many as another's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


def is_valid(record: Record) -> bool:
    """Whether an answer is a correct kernel; the parent once more, with other names or remarks, is none."""
    return record["status"] == "ok" and not record.get("copy")


def valid(records: Sequence[Record]) -> int:
    """Returns how many are."""
    return sum(is_valid(each) for each in records)


def different(records: Sequence[Record]) -> int:
    """Returns how many different kernels are among the valid answers, but for names and remarks."""
    return len({(each["task"], each.get("kernel") or each["text"]) for each in records if is_valid(each)})


def interval(hits: int, count: int) -> tuple[float, float]:
    """Returns Wilson's 95 % interval of a proportion."""
    z, p = 1.96, hits / count
    middle, spread = p + z**2 / (2 * count), z * math.sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    return (middle - spread) / (1 + z**2 / count), (middle + spread) / (1 + z**2 / count)


def ratio(hits: int, count: int, base_hits: int, base_count: int) -> tuple[float, float, float]:
    """Returns how many times as often, with its 95 % interval on the logarithm (Katz 1978).

    Half a hit is added to both sides, so that none at all has an interval too
    (Katz 1978, https://doi.org/10.2307/2530610; Walter 1975 for the half).
    """
    a, n, b, m = hits + 0.5, count + 0.5, base_hits + 0.5, base_count + 0.5
    middle, spread = math.log(a / n / (b / m)), 1.96 * math.sqrt(1 / a - 1 / n + 1 / b - 1 / m)
    return math.exp(middle), math.exp(middle - spread), math.exp(middle + spread)


def by_arm(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Returns the answers to each prompt."""
    found: dict[str, list[Record]] = {}
    for each in records:
        found.setdefault(each["arm"], []).append(each)
    return found


def best_arm(records: Sequence[Record]) -> str:
    """Returns the prompt with most valid answers, ``plain`` left out; of equals the one with more different kernels.

    Raises:
        ValueError: There is no other prompt.
    """
    ours = {arm: members for arm, members in by_arm(records).items() if arm != "plain"}
    if not ours:
        raise ValueError("there is no prompt beside the plain one to choose")
    return max(ours, key=lambda arm: (valid(ours[arm]) / len(ours[arm]), different(ours[arm])))


def table(records: Sequence[Record]) -> str:
    """Returns rates by prompt, over all tasks and for each."""
    lines = []
    groups: dict[tuple[str, str], list[Record]] = {}
    for each in records:
        groups.setdefault((each["arm"], "all"), []).append(each)
        groups.setdefault((each["arm"], each["task"]), []).append(each)
    for (arm, task), members in sorted(groups.items()):
        hits = valid(members)
        low, high = interval(hits, len(members))
        rest = Counter(_failure(each) for each in members if not is_valid(each))
        told = ", ".join(f"{name} {count}" for name, count in rest.most_common())
        best = max((each["speedup"] or 0.0 for each in members if is_valid(each)), default=0.0)
        fastest = f", best {best:.2f}x" if best else ""
        share = f"{hits}/{len(members)} valid ({low:.0%} to {high:.0%}), {different(members)} different{fastest}"
        lines.append(f"{arm:11} {task:14} {share}; {told}")
    return "\n".join([*lines, *ratios(by_arm(records))])


def stages(records: Sequence[Record]) -> str:
    """Returns a table for each stage, and what the first one chose."""
    members: dict[str, list[Record]] = {}
    for each in records:
        members.setdefault(each.get("stage", "test"), []).append(each)
    parts = []
    if "tuning" in members:
        tuning = members.pop("tuning")
        parts.append(f"tuning:\n{table(tuning)}\nchosen: {best_arm(tuning)}\n")
    return "\n".join([*parts, *map(table, members.values())])


def _failure(record: Record) -> str:
    return "copy of the parent" if record.get("copy") else str(record["status"] or record["outcome"])


def ratios(members_by_arm: Mapping[str, Sequence[Record]]) -> list[str]:
    """Returns, for each prompt but the plain one, how many times as many of its answers are valid.

    The second figure counts every correct kernel, also the parent once more.
    """
    lines = []
    plain = members_by_arm.get("plain", ())
    for arm, members in members_by_arm.items():
        if arm != "plain" and plain:
            hits, base = [[valid(each), sum(one["status"] == "ok" for one in each)] for each in (members, plain)]
            (times, low, high), (all_times, all_low, all_high) = (
                ratio(hit, len(members), other, len(plain)) for hit, other in zip(hits, base, strict=True)
            )
            told = f"{arm} / plain: {times:.2f} times as many valid kernels ({low:.2f} to {high:.2f})"
            lines.append(f"{told}, with copies of the parent {all_times:.2f} times ({all_low:.2f} to {all_high:.2f})")
    return lines
