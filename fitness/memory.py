"""How much memory is to be had: what a large problem may ask for before anything is drawn."""

from __future__ import annotations

from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def available_bytes() -> int:
    """Returns how much memory this process can still have, by the system and by the control groups that it is in."""
    system = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return min([int(system["MemAvailable"].split()[0]) << 10, *_left_in_groups(_GROUPS, _own_group())])


def _own_group() -> str:
    """Returns the path of this process's control group below the hierarchy's root (version 2)."""
    file = Path("/proc/self/cgroup")
    lines = file.read_text().splitlines() if file.is_file() else []
    return next((line.removeprefix("0::/") for line in lines if line.startswith("0::")), "")


def _left_in_groups(root: Path, own: str) -> list[int]:
    """Returns what is left of each limit of a group and the groups around it; files that are cached can go."""
    folder, left = root / own, []
    for group in (folder, *folder.parents):
        try:
            most, used = (group / "memory.max").read_text(), (group / "memory.current").read_text()
            told = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        except OSError:
            continue
        if most.strip() != "max":
            left.append(int(most) - int(used) + int(told.get("inactive_file", 0)))
    return left
