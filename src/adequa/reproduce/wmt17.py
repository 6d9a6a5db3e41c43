"""Segment-level Pearson on WMT17 direct assessments, to English (the BERT regressor's Table 2)."""

from __future__ import annotations

from adequa.agreement.results import AVERAGE
from adequa.reproduce.lexical import lexical
from adequa.reproduce.table import System, Table

TABLE = Table(
    name="wmt17",
    title="WMT17, segment-level Pearson",
    paper="Shimanaka, Kajiwara and Komachi (2019), "
    "Machine Translation Evaluation with BERT Regressor, Table 2",
    dataset="wmt17-da",
    statistic="pearson",
    notes=("SentBLEU has no settings to choose: it is the baseline of the WMT metrics tasks.",),
    systems=(
        System(
            name="sentbleu",
            label="SentBLEU",
            scores=lexical("sentbleu"),
            paper={
                "cs-en": 0.435,
                "de-en": 0.432,
                "fi-en": 0.571,
                "lv-en": 0.393,
                "ru-en": 0.484,
                "tr-en": 0.538,
                "zh-en": 0.512,
                AVERAGE: 0.481,
            },
        ),
    ),
)
