"""Figures that the WMT metrics tasks published, from their data and our metrics."""

from __future__ import annotations

import pytest

from adequa import Protocol, evaluate, load_dataset
from adequa.agreement.results import Agreement
from adequa.agreement.selection import with_ids
from judgements import needs_judgements

QUICK = Protocol(over="none", test="none")


def evaluated(dataset: str, pair: str, metric: str) -> Agreement:
    judgements = with_ids(load_dataset(dataset), "lp", [pair])
    return evaluate(judgements, [metric], QUICK)


@needs_judgements
def test_sentbleu_on_wmt14() -> None:
    """Macháček and Bojar (2014), segment level, SentBLEU on Czech-English: .213."""
    found = evaluated("wmt14-rr", "cs-en", "sentbleu")
    assert found.protocol.statistic == "tau-wmt14"
    assert found.average.values[0] == pytest.approx(0.213, abs=0.005)


@needs_judgements
def test_bleu_on_the_systems_of_wmt17() -> None:
    """Bojar, Graham and Kamran (2017), system level, BLEU on Latvian-English: .979."""
    found = evaluated("wmt17-systems", "lv-en", "bleu")
    assert (found.protocol.level, found.protocol.statistic) == ("system", "pearson")
    assert found.average.values[0] == pytest.approx(0.979, abs=0.005)
