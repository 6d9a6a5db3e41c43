"""The report of a pair regressor's training: which weights it says were kept."""

from __future__ import annotations

from typing import Any

import pytest

from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import plan_from

pytest.importorskip("torch", reason="the settings of a stage are put together beside the network")


def entry(trial: int, step: int, **figures: float) -> dict[str, Any]:
    return {"stage": "ratings (1 of 1)", "trial": trial, "step": step, "loss": 0.5, **figures}


def lines(
    history: list[dict[str, Any]], validation: dict[str, int], **stage: object
) -> list[list[str]]:
    table = {"encoder": "deep/bert", "stage": [{"objective": "ratings", **stage}]}
    metric = PairRegressor(plan_from(table, "a plan"), name="mine")
    source = {"objective": "ratings", "rows": 1234, "rows_by_dataset": {"a.tsv": 1000, "b": 234}}
    metric.training_ = {
        "stages": [[source]], "chosen": {}, "history": history, "trained_on": "cpu",
        "precision": "fp32",
    }  # fmt: skip
    last = {key: value for key, value in history[-1].items() if key in {"pearson", "accuracy"}}
    metric.agreement_ = {"held_out": validation, **last}
    shown = metric.training_result("bleu").to_text()
    assert shown.startswith("mine: bert, fine-tuned on cpu, fp32\n\n")
    assert "ratings  a.tsv, b  1,234\n" in shown
    assert shown.endswith("Saved in bleu; use it with: adequa score -m ./bleu -t FILE -r FILE\n")
    return [line.split() for line in shown.splitlines()[5:-1]]


RATED = {"ratings": 40, "preferences": 0}


def test_the_best_epoch_is_marked_and_of_equal_ones_the_later() -> None:
    history = [entry(1, 10, pearson=0.4), entry(1, 20, pearson=0.6), entry(1, 30, pearson=0.6)]
    table = lines(history, RATED)
    assert table[0] == ["stage", "step", "loss", "Pearson"]
    assert table[1:4] == [
        ["1", "10", "0.5000", "0.400"],
        ["1", "20", "0.5000", "0.600"],
        ["1", "*30", "0.5000", "0.600"],
    ]
    assert table[5][:7] == ["*", "used:", "the", "best", "on", "40", "ratings"]


def test_the_last_weights_are_marked_where_those_are_used() -> None:
    history = [entry(1, 10, pearson=0.7), entry(1, 1020, pearson=0.6)]
    assert [row[1] for row in lines(history, RATED, keep="last")[1:3]] == ["10", "*1,020"]


def test_of_several_trials_each_has_one_line_with_its_settings() -> None:
    history = [
        entry(1, 10, pearson=0.4), entry(1, 20, pearson=0.3),
        entry(2, 10, pearson=0.2), entry(2, 20, pearson=0.5),
    ]  # fmt: skip
    best = lines(history, RATED, learning_rate=[2e-5, 1e-3])
    assert best[1] == ["1", "learning", "rate", "2e-05", "10", "0.5000", "0.400"]
    assert best[2] == ["1", "learning", "rate", "0.001", "*20", "0.5000", "0.500"]
    last = lines(history, RATED, learning_rate=[2e-5, 1e-3], keep="last")
    assert [row[4] for row in last[1:3]] == ["20", "*20"]


def test_no_validation_data() -> None:
    (note,) = lines([entry(1, 10)], {"ratings": 0, "preferences": 0})
    assert " ".join(note) == "No validation data: the weights of the last step are used."
