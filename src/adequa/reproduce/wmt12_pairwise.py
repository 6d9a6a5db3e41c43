"""Rows of pairwise rankers on WMT12, and Tables 2 to 5 of their paper (Guzmán et al., 2015)."""

from __future__ import annotations

from adequa.agreement.results import AVERAGE
from adequa.reproduce.lexical import lexical
from adequa.reproduce.models import GLOVE_6B_100, GLOVE_840B, specification
from adequa.reproduce.pairwise_rows import four_metrics, glove, pairwise, syntax
from adequa.reproduce.table import Scores, System, Table
from adequa.reproduce.wmt12_columns import paper

TRAINING = (
    "Pairwise rankers learn from preferences of WMT13, where the paper's learnt from WMT11, which "
    "cannot be had: 24,956 of them, as many as WMT11 has to English, drawn from those of 1,500 "
    "segments. The epoch is chosen on 10,397 preferences of WMT14, those of 500 references, and so "
    "was all else; WMT12 was read to report. METEOR in 4metrics is that with synonyms and "
    "paraphrases. The syntactic vector composes the words' GloVe vectors over the dependency tree "
    "of spaCy's en_core_web_md, by fixed random matrices, since the authors' parser vectors cannot "
    "be had. With BLEU, NIST and TER it was chosen over figures of the tree's shape: 31.26 and "
    "31.16 on the validation data, the mean over language pairs, and 30.98 without any."
)
_COMPONENTS = "bleucomp"
_PAPER = (
    "Guzmán, Joty, Màrquez and Nakov (2015), Pairwise Neural Machine Translation Evaluation, Table"
)


def _row(name: str, label: str, scores: Scores, *figures: float) -> System:
    """A row; of some the paper prints the average alone."""
    whole = len(figures) > 1
    return System(
        name=f"pairwise-{name}",
        label=f"pairwise: {label}",
        scores=scores,
        paper=paper(*figures) if whole else dict.fromkeys([AVERAGE][: len(figures)], *figures),
        cost="hours",
    )


def _glove_100() -> str:
    return specification("words", GLOVE_6B_100)


def _glove_840b() -> str:
    return specification("words", GLOVE_840B)


_DEEP = pairwise(four_metrics, syntax, glove)
_BOTH = "4metrics + syntax + GloVe 50d"
PAIRWISE = (
    _row("syntax", "syntax, deep, logistic", pairwise(syntax), 8.00, 13.03, 12.11, 7.42, 10.14),
    _row("glove", "GloVe 50d, deep, logistic", pairwise(glove), 14.31, 11.49, 9.24, 4.99, 10.01),
    _row(
        "4metrics-flat",
        "4metrics, flat, logistic",
        pairwise(four_metrics, hidden=0),
        *(23.46, 29.95, 27.49, 27.36, 27.06),
    ),
    _row(
        "4metrics-syntax",
        "4metrics + syntax, deep, logistic",
        pairwise(four_metrics, syntax),
        *(26.09, 30.58, 29.30, 28.07, 28.51),
    ),
    _row(
        "4metrics-glove",
        "4metrics + GloVe 50d, deep, logistic",
        pairwise(four_metrics, glove),
        *(25.67, 32.50, 29.21, 28.92, 29.07),
    ),
    _row(
        "4metrics-syntax-glove",
        f"{_BOTH}, deep, logistic",
        _DEEP,
        *(26.30, 33.19, 30.38, 28.92, 29.70),
    ),
)


def _table(kind: str, number: int, title: str, *systems: System) -> Table:
    return Table(
        name=f"wmt12-{kind}",
        title=f"WMT12, strict Kendall's tau × 100: {title}",
        paper=f"{_PAPER} {number}",
        dataset="wmt12-rr",
        statistic="tau-wmt12",
        scale=100.0,
        decimals=2,
        notes=(TRAINING,),
        systems=systems,
    )


BLEUCOMP = _table(
    "bleucomp",
    2,
    "BLEU taken apart",
    System(
        name="bleu",
        label="BLEU",
        scores=lexical("sentbleu"),
        paper=paper(15.88, 18.56, 18.57, 20.83, 18.46),
    ),
    _row(
        "bleucomp-flat",
        "bleucomp, flat, logistic",
        pairwise(_COMPONENTS, hidden=0),
        *(18.18, 21.13, 19.79, 19.91, 19.75),
    ),
    _row(
        "bleucomp-syntax",
        "bleucomp + syntax, deep, logistic",
        pairwise(_COMPONENTS, syntax),
        *(20.75, 25.32, 24.85, 23.88, 23.70),
    ),
    _row(
        "bleucomp-glove",
        "bleucomp + GloVe 50d, deep, logistic",
        pairwise(_COMPONENTS, glove),
        *(22.96, 26.63, 25.99, 24.10, 24.92),
    ),
    _row(
        "bleucomp-syntax-glove",
        "bleucomp + syntax + GloVe 50d, deep, logistic",
        pairwise(_COMPONENTS, syntax, glove),
        *(22.84, 28.92, 27.95, 24.90, 26.15),
    ),
    _row(
        "bleu-syntax-glove",
        "BLEU + syntax + GloVe 50d, deep, logistic",
        pairwise("sentbleu", syntax, glove),
        *(20.03, 25.95, 27.07, 23.16, 24.05),
    ),
)
VECTORS = _table(
    "vectors",
    3,
    "semantic vectors",
    _row("glove", "GloVe 50d, deep, logistic", pairwise(glove), 10.01),
    _row("glove-100", "GloVe 100d, deep, logistic", pairwise(_glove_100)),
    _row("glove-840b", "GloVe 840B 300d, deep, logistic", pairwise(_glove_840b), 11.41),
    _row("4metrics-syntax-glove", f"{_BOTH}, deep, logistic", _DEEP, 29.70),
    _row(
        "4metrics-syntax-glove-100",
        "4metrics + syntax + GloVe 100d, deep, logistic",
        pairwise(four_metrics, syntax, _glove_100),
    ),
    _row(
        "4metrics-syntax-glove-840b",
        "4metrics + syntax + GloVe 840B 300d, deep, logistic",
        pairwise(four_metrics, syntax, _glove_840b),
        29.88,
    ),
)
DEPTH = _table(
    "depth",
    4,
    "deep and flat",
    _row(
        "4metrics-syntax-glove-flat",
        f"{_BOTH}, flat, logistic",
        pairwise(four_metrics, syntax, glove, hidden=0),
        *(25.86, 32.06, 30.03, 28.45, 29.10),
    ),
    _row(
        "4metrics-syntax-glove",
        f"{_BOTH}, deep, logistic",
        _DEEP,
        *(26.30, 33.19, 30.38, 28.92, 29.70),
    ),
)
LOSS = _table(
    "loss",
    5,
    "costs",
    _row(
        "4metrics-syntax-glove",
        f"{_BOTH}, deep, logistic",
        _DEEP,
        *(26.30, 33.19, 30.38, 28.92, 29.70),
    ),
    _row(
        "kendall",
        f"{_BOTH}, deep, Kendall",
        pairwise(four_metrics, syntax, glove, loss="kendall"),
        *(27.04, 33.60, 29.48, 28.54, 29.53),
    ),
    _row(
        "logistic-kendall",
        f"{_BOTH}, deep, logistic then Kendall",
        pairwise(four_metrics, syntax, glove, loss="logistic-kendall"),
        *(26.90, 33.17, 30.40, 29.21, 29.92),
    ),
)
