"""Folders of an earlier version, and the first edition of adequa, still give the same scores.

`saved/` holds one small folder of each kind, written by version 0.1.0, and `scores.json` the scores
that it gave.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.learned.pairwise.metric import PairwiseRanker
from adequa.metrics.registry import load_metric
from adequa.segments import ENVIRONMENT_FIELDS, Segments

SAVED = Path(__file__).parents[1] / "saved"
EXPECTED: dict[str, dict[str, Any]] = json.loads((SAVED / "scores.json").read_text())
NEEDS_TORCH = {"pair", "reval"}
# Whole-number kernels round differently on other processors.
TOLERANCE = {"packed": 2e-3, "adequa-1": 2e-3}


@pytest.mark.parametrize("name", EXPECTED)
def test_scores_stay(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in NEEDS_TORCH:
        pytest.importorskip("torch", reason="this kind needs PyTorch")
        pytest.importorskip("transformers", reason="transformers is not installed")
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path))
    monkeypatch.chdir(SAVED)  # word vectors and parses are named relative to it
    expected = EXPECTED[name]
    texts = Segments(tuple(expected["hypotheses"]), tuple(map(tuple, expected["references"])))
    metric = load_metric(f"{name}:device=cpu" if name in NEEDS_TORCH else name)
    if isinstance(metric, PairwiseRanker):
        others = Segments(tuple(reversed(texts.hypotheses)), texts.references)
        scores = metric.decide(texts, others)
    else:
        scores = metric.score(texts).segments
    np.testing.assert_allclose(scores, expected["scores"], atol=TOLERANCE.get(name, 1e-5))
    name, *fields = expected["signature"].split("|")
    signature = metric.signature(1)
    lasting = [f"{k}:{v}" for k, v in signature.fields if k not in ENVIRONMENT_FIELDS]
    assert [signature.metric, *lasting] == [name, *fields[:-1]]


def test_each_kind_is_there() -> None:
    from adequa.metrics.saved import KINDS

    kinds = {
        json.loads((folder / "metric.json").read_text())["kind"]
        for folder in SAVED.iterdir()
        if folder.is_dir()
    }
    assert kinds == set(KINDS)
