"""Segment-level Pearson on WMT16 direct assessments, to English (the SVR paper's Table 2)."""

from __future__ import annotations

from adequa.agreement.results import AVERAGE
from adequa.reproduce.lexical import lexical
from adequa.reproduce.table import System, Table

TABLE = Table(
    name="wmt16",
    title="WMT16, segment-level Pearson",
    paper="Shimanaka, Kajiwara and Komachi (2018), Metric for Automatic Machine Translation "
    "Evaluation based on Universal Sentence Representations, Table 2",
    dataset="wmt16-da",
    statistic="pearson",
    notes=("SentBLEU has no settings to choose: it is the baseline of the WMT metrics tasks.",),
    systems=(
        System(
            name="sentbleu",
            label="SentBLEU",
            scores=lexical("sentbleu"),
            paper={
                "cs-en": 0.557,
                "de-en": 0.448,
                "fi-en": 0.484,
                "ro-en": 0.499,
                "ru-en": 0.502,
                "tr-en": 0.532,
                AVERAGE: 0.504,
            },
        ),
    ),
)
