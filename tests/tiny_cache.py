"""A cache of scores that follow from their keys, so that any process can check them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adequa.runtime.cache import ScoreCache, text_key
from adequa.runtime.onnx import PairScores

KEYS = [text_key(f"hypothesis {number}", f"reference {number % 7}") for number in range(2000)]


def scores_of(keys: Sequence[bytes]) -> PairScores:
    """The score of each key."""
    numbers = [random.Random(key).uniform(-1, 1) for key in keys]
    return PairScores(np.array(numbers), np.array([key[0] for key in keys], np.int32))


def opened(path: Path, limit: int = 1 << 30) -> ScoreCache:
    return ScoreCache(path, limit)


def put(cache: ScoreCache, keys: Sequence[bytes]) -> None:
    cache.put(keys, scores_of(keys))


def get(cache: ScoreCache, keys: Sequence[bytes]) -> list[bool]:
    """Which of the keys are cached; their scores must be right to the last bit."""
    scores, mask = cache.get(keys)
    right = scores_of(keys)
    np.testing.assert_array_equal(scores.scores[mask], right.scores[mask])
    np.testing.assert_array_equal(scores.windows[mask], right.windows[mask])
    assert not scores.scores[~mask].any()
    return [bool(each) for each in mask]
