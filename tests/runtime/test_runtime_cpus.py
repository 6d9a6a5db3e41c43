"""How many CPUs there are to use: affinity and quotas, from files as Linux writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adequa.runtime.cpus import available_cpus

MOUNT_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
MOUNT_1 = "33 24 0:28 {} {} rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
OTHERS = (
    "22 1 8:1 / / rw - ext4 /dev/root rw\n35 24 0:30 / /sys/fs/cgroup/pids rw - cgroup c rw,pids\n"
)


@pytest.fixture(autouse=True)
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def written(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def version_2(root: Path, group: str, **files: str) -> Path:
    written(root, proc__self__cgroup=f"0::{group}\n", proc__self__mountinfo=OTHERS + MOUNT_2)
    return written(root / "sys/fs/cgroup", **files)


def version_1(root: Path, group: str, mounted: str, place: str = "/sys/fs/cgroup/cpu") -> Path:
    lines = f"9:pids:/other\n4:cpu,cpuacct:{group}\n1:name=systemd:/\n0::/\n"
    mounts = OTHERS + MOUNT_1.format(mounted, place.replace(" ", r"\040"))
    written(root, proc__self__cgroup=lines, proc__self__mountinfo=mounts)
    return root / place.lstrip("/")


@pytest.mark.parametrize(
    ("content", "cpus"),
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),  # a CPU and a half
        ("20000 100000\n", 1),
        ("max 100000\n", 8),
        ("1600000 100000\n", 8),
        ("", 8),
        ("nonsense\n", 8),
        ("0 0\n", 8),
    ],
)
def test_quotas_of_version_2(tmp_path: Path, content: str, cpus: int) -> None:
    version_2(tmp_path, "/", cpuDOTmax=content)
    assert available_cpus(tmp_path) == cpus


def test_the_tightest_of_nested_groups_counts(tmp_path: Path) -> None:
    version_2(
        tmp_path, "/a/b", a__cpuDOTmax="300000 100000\n", a__b__cpuDOTmax="max 100000\n",
        other__cpuDOTmax="100000 100000\n",
    )  # fmt: skip
    assert available_cpus(tmp_path) == 3


@pytest.mark.parametrize("group", ["/gone", "/../../outside"])
def test_a_group_that_cannot_be_seen(tmp_path: Path, group: str) -> None:
    version_2(tmp_path, group, cpuDOTmax="400000 100000\n")
    assert available_cpus(tmp_path) == 4


@pytest.mark.parametrize(
    ("group", "mounted", "inner", "place"),
    [
        ("/", "/", "", "/sys/fs/cgroup/cpu"),
        ("/docker/1f", "/", "docker/1f", "/sys/fs/cgroup/cpu,cpuacct"),
        ("/docker/1f", "/docker/1f", "", "/sys/fs/cgroup/cpu"),  # its own group is all it sees
        ("/docker/1f", "/docker/other", "", "/sys/fs/cgroup/cpu"),
        ("/a", "/", "a", "/mnt/with space"),
    ],
)
def test_quotas_of_version_1(
    tmp_path: Path, group: str, mounted: str, inner: str, place: str
) -> None:
    folder = version_1(tmp_path, group, mounted, place) / inner
    written(folder, cpuDOTcfs_quota_us="250000\n", cpuDOTcfs_period_us="100000\n")
    assert available_cpus(tmp_path) == 3
    written(folder, cpuDOTcfs_quota_us="-1\n")
    assert available_cpus(tmp_path) == 8


def test_affinity_counts_where_there_are_no_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert available_cpus(tmp_path) == 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5}, raising=False)
    assert available_cpus(tmp_path) == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus(tmp_path) == 1


@pytest.mark.parametrize("content", ["", "x", "0::", ":::::", "1:cpu\n", "\x00"])
def test_files_that_make_no_sense(tmp_path: Path, content: str) -> None:
    written(tmp_path, proc__self__cgroup=content, proc__self__mountinfo=f"{content}\n{MOUNT_2}")
    assert available_cpus(tmp_path) == 8


def test_this_machine_has_some() -> None:
    assert 1 <= available_cpus() <= 8
