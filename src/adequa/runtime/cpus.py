"""How many CPUs this process may really use: its affinity, and the quotas of its control groups.

A container often sees all CPUs of its machine but is given the time of a few. Threads beyond that
only wait for one another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from math import ceil
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_ROOT = Path("/")
_MOUNT_FIELDS = 5  # of a line of mountinfo before its options


class _Mount(NamedTuple):
    """Where a hierarchy of control groups can be read, and which group that place stands for."""

    group: PurePosixPath
    place: Path
    controllers: frozenset[str]  # of version 1; none in version 2


def available_cpus(root: Path = _ROOT) -> int:
    """CPUs to use, at least 1. What the system says of itself is read below `root`.

    Part of a CPU counts as a whole one: with a thread less, its time would never be used.
    """
    quotas = [ceil(quota) for quota in _quotas(root)]
    return max(min([_allowed(), *quotas]), 1)


def _allowed() -> int:
    """CPUs that the system lets this process run on."""
    with suppress(AttributeError, OSError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(root: Path) -> Iterator[float]:
    """CPUs' worth of time that each control group around this process grants."""
    groups = dict(_groups(_lines(root / "proc/self/cgroup")))
    for mount in _mounts(root, _lines(root / "proc/self/mountinfo")):
        controller = "cpu" if mount.controllers else ""
        if controller in groups and (not controller or controller in mount.controllers):
            for folder in _around(mount, groups[controller]):
                quota = _quota_2(folder) if not controller else _quota_1(folder)
                if quota is not None:
                    yield quota


def _groups(lines: list[str]) -> Iterator[tuple[str, PurePosixPath]]:
    """The group of this process for each controller; the one of version 2 under no name."""
    for line in lines:
        parts = line.split(":", 2)
        if len(parts) == 3:  # noqa: PLR2004  # number, controllers, group
            yield from ((name, PurePosixPath(parts[2])) for name in parts[1].split(","))


def _mounts(root: Path, lines: list[str]) -> Iterator[_Mount]:
    """Where groups are mounted: `36 25 0:32 GROUP PLACE options ... - cgroup name rw,cpu`."""
    for line in lines:
        front, _, back = line.partition(" - ")
        fields, kind = front.split(" "), back.split(" ")
        if len(fields) > _MOUNT_FIELDS and kind[0] in {"cgroup", "cgroup2"}:
            group, place = map(_unescaped, fields[3:5])
            controllers = (
                frozenset(kind[-1].split(",")) if kind[0] == "cgroup" else frozenset[str]()
            )
            yield _Mount(PurePosixPath(group), root / place.lstrip("/"), controllers)


def _around(mount: _Mount, group: PurePosixPath) -> list[Path]:
    """The folders of a group and of all groups around it, as far as they can be seen."""
    try:
        inner = group.relative_to(mount.group)
    except ValueError:  # a container sees its own group as the outermost
        inner = PurePosixPath()
    if ".." in inner.parts:
        inner = PurePosixPath()
    return [mount.place / inner, *((mount.place / each) for each in inner.parents)]


def _quota_2(folder: Path) -> float | None:
    return _ratio(" ".join(_lines(folder / "cpu.max")).split())


def _quota_1(folder: Path) -> float | None:
    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    return _ratio([word for name in names for word in _lines(folder / name)])


def _ratio(words: list[str]) -> float | None:
    """Quota over period, or None where there is no limit (`max`, -1) or nothing sensible.

    >>> _ratio(["150000", "100000"]), _ratio(["max", "100000"]), _ratio(["-1", "100000"])
    (1.5, None, None)
    """
    with suppress(ValueError):
        quota, period = map(int, words)
        if quota > 0 and period > 0:
            return quota / period
    return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _unescaped(field: str) -> str:
    r"""A field of mountinfo as it is meant.

    >>> _unescaped(r"/with\040space")
    '/with space'
    """
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)
