"""The vectors of the texts just seen: which of them stay, and that copies begin empty."""

from __future__ import annotations

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="vectors are tensors of PyTorch")

from adequa.learned.reval.recent_vectors import RecentVectors  # noqa: E402  # it needs PyTorch


def rows(*numbers: float) -> torch.Tensor:  # type: ignore[name-defined]
    return torch.tensor([[float(number), -float(number)] for number in numbers])


def found(kept: RecentVectors, *texts: str) -> tuple[list[float], list[int]]:
    """The first number of each text, 0 where it is not there, and the places of these."""
    vectors = torch.zeros(len(texts), 2)
    lacking = kept.fill(vectors, texts)
    assert (vectors[:, 0] == -vectors[:, 1]).all()
    return vectors[:, 0].tolist(), np.asarray(lacking).tolist()


def test_the_oldest_go_first() -> None:
    kept = RecentVectors(3)
    assert found(kept, "a") == ([0], [0])
    kept.put(["a", "b", "c"], rows(1, 2, 3))
    assert found(kept, "c", "x", "a") == ([3, 0, 1], [1])
    kept.put(["d"], rows(4))  # in place of b, which was not asked for
    assert found(kept, "b", "a", "c", "d") == ([0, 1, 3, 4], [0])
    kept.put(["a", "e"], rows(5, 6))
    assert found(kept, "a", "c", "d", "e") == ([5, 0, 4, 6], [1])


def test_of_too_many_the_last_stay() -> None:
    kept = RecentVectors(2)
    kept.put(["a", "b", "c", "d"], rows(1, 2, 3, 4))
    assert found(kept, "a", "b", "c", "d") == ([0, 0, 3, 4], [0, 1])


def test_copies_begin_empty() -> None:
    kept = RecentVectors(2)
    kept.put(["a"], rows(1))
    copied = copy.deepcopy(kept)
    assert copied.limit == 2
    assert found(copied, "a") == ([0], [0])
    assert found(kept, "a") == ([1], [])
