"""Strict Kendall's tau on WMT12 preferences, to English (the pairwise ranker's Table 1)."""

from __future__ import annotations

from collections.abc import Mapping

from adequa.reproduce.lexical import lexical
from adequa.reproduce.table import AVERAGE, System, Table


def _paper(cs: float, de: float, es: float, fr: float, average: float) -> Mapping[str, float]:
    return {"cs-en": cs, "de-en": de, "es-en": es, "fr-en": fr, AVERAGE: average}


TABLE = Table(
    name="wmt12",
    title="WMT12, strict Kendall's tau × 100",
    paper="Guzmán, Joty, Màrquez and Nakov (2015), "
    "Pairwise Neural Machine Translation Evaluation, Table 1",
    dataset="wmt12-rr",
    statistic="tau-wmt12",
    scale=100.0,
    decimals=2,
    systems=(
        System(
            name="bleu",
            label="BLEU",
            scores=lexical("sentbleu"),
            paper=_paper(15.88, 18.56, 18.57, 20.83, 18.46),
        ),
        System(
            name="nist",
            label="NIST",
            scores=lexical("nist"),
            paper=_paper(19.66, 23.09, 20.41, 22.21, 21.34),
        ),
        System(
            name="ter",
            label="TER",
            scores=lexical("ter"),
            paper=_paper(17.80, 25.31, 22.86, 21.05, 21.75),
        ),
        System(
            name="meteor",
            label="METEOR",
            scores=lexical("meteor"),
            paper=_paper(20.82, 26.79, 23.81, 22.93, 23.59),
        ),
    ),
)
