"""Columns of a table that are measured on other data: figures, intervals, scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adequa.datasets.load import load_dataset
from adequa.judgements import Preferences
from adequa.metrics.registry import load_metric
from adequa.progress import NO_PROGRESS
from adequa.reproduce.measure import reproduce
from adequa.reproduce.paper_table import (
    ExtraColumns,
    PaperFigure,
    PaperResults,
    PaperRow,
    PaperTable,
    side_by_side,
)
from adequa.reproduce.scorers import segment_scorer, system_scorer
from adequa.segments import Segments
from test_cli import EXAMPLES

RATINGS = EXAMPLES / "ratings.tsv"
REFERENCE = ("the cat sat on the mat", "a dog barked at the old tree")
OUTPUTS = {
    "good": REFERENCE,
    "fair": ("the cat sat on a mat", "a dog barked at the tree"),
    "poor": ("cat mat", "the tree and a dog that barked"),
}


def ratings() -> tuple[np.ndarray, list[str]]:
    header, *lines = (line.split("\t") for line in RATINGS.read_text().splitlines())
    return np.array([float(line[header.index("score")]) for line in lines]), header


@pytest.fixture
def data(tmp_path: Path) -> tuple[str, str]:
    """The ratings once more with a split, and preferences among three systems."""
    split = tmp_path / "split.tsv"
    header, *lines = RATINGS.read_text().splitlines()
    parts = ("test" if at % 2 else "train" for at in range(len(lines)))
    rows = [f"{line}\t{part}" for line, part in zip(lines, parts, strict=True)]
    split.write_text("\n".join([f"{header}\tsplit", *rows]) + "\n")
    compared = tmp_path / "compared.tsv"
    names = list(OUTPUTS)
    rows = [
        "\t".join(("de-en", str(segment), REFERENCE[segment], OUTPUTS[one][segment],
                   OUTPUTS[other][segment], one, other))
        for segment in range(2)
        for at, one in enumerate(names)
        for other in names[at + 1 :]
    ]  # fmt: skip
    columns = "lp\tsegment\tref\tbetter\tworse\tbetter_system\tworse_system"
    compared.write_text("\n".join([columns, *rows]) + "\n")
    return str(split), str(compared)


def small(data: tuple[str, str]) -> PaperTable:
    split, compared = data
    return PaperTable(
        name="small",
        title="A small table",
        paper="Nobody (2000), Table 1",
        dataset=str(RATINGS),
        statistic="pearson",
        rows=(
            PaperRow(
                "chrf",
                "chrF",
                segment_scorer("chrf"),
                paper={"half": 0.5},
                extra={
                    "half": segment_scorer("chrf"),
                    "systems": system_scorer(lambda: load_metric("chrf")),
                },
            ),
            PaperRow("wer", "WER", segment_scorer("wer")),
        ),
        extra=(
            ExtraColumns(
                "half", "Half", split, {"half": "pearson", "half-rank": "spearman"}, split="test"
            ),
            ExtraColumns("systems", "Systems", compared, {"system": "spearman"}, level="system"),
        ),
    )


def test_figures_come_from_the_scores_of_the_part(tmp_path: Path, data: tuple[str, str]) -> None:
    table = small(data)
    results = reproduce(table, tmp_path / "results")
    figures = {(figure.system, figure.column): figure for figure in results.figures}
    half = figures["chrf", "half"]
    human = ratings()[0][1::2]
    scores = np.loadtxt(tmp_path / "results" / "scores" / "small" / "chrf.half.tsv.gz")[1::2]
    assert half.scores == "chrf.half.tsv.gz"
    assert half.measured == pytest.approx(stats.pearsonr(human, scores)[0], abs=1e-5)
    assert figures["chrf", "half-rank"].measured == pytest.approx(
        stats.spearmanr(human, scores)[0], abs=1e-5
    )
    assert half.paper == 0.5
    assert half.interval is not None
    assert half.measured is not None
    assert half.interval[0] < half.measured < half.interval[1]
    assert figures["chrf", "system"].measured == 1  # people's order is chrF's
    assert ("wer", "half") not in figures
    assert PaperResults.read(table, tmp_path / "results") == results


def test_extra_columns_are_shown_in_a_table_of_their_own(
    tmp_path: Path, data: tuple[str, str]
) -> None:
    main, extra = reproduce(small(data), tmp_path).tables()
    assert main.headings == ["row", "paper", "ours", "difference", "95% interval", "de-en"]
    assert extra.headings == ["row", "Half, pearson", "Half, spearman", "Systems, spearman"]
    (chrf, half, _, systems), wer = extra.rows
    assert (chrf, systems) == ("chrF", "1.000")
    assert str(half).endswith(" (0.500)")
    assert list(wer) == ["WER", "–", "–", "–"]


def test_compared_systems_are_scored_by_all_their_outputs(data: tuple[str, str]) -> None:
    judgements = load_dataset(data[1])
    assert isinstance(judgements, Preferences)
    scored = system_scorer(lambda: load_metric("bleu"))(judgements, NO_PROGRESS)
    by_hand = {
        name: load_metric("bleu").score(_segments(texts)).system for name, texts in OUTPUTS.items()
    }
    assert dict(zip(scored.ids["system"], scored.scores, strict=True)) == pytest.approx(by_hand)


def _segments(texts: tuple[str, ...]) -> Segments:
    return Segments(texts, tuple((reference,) for reference in REFERENCE))


def test_a_figure_of_0_in_the_paper_is_a_figure() -> None:
    row = PaperRow("one", "One", segment_scorer("wer"), paper={"average": 0.0})
    table = PaperTable("small", "A small table", "Nobody (2000)", "none", "pearson", (row,))
    figures = (PaperFigure("one", "average", "pearson", 0.0, 0.25, None, (0.2, 0.3)),)
    shown = side_by_side([PaperResults(table, figures)])
    assert shown.rows == [["One", "0.000", "0.250", "+0.250", "0.200 – 0.300"]]


def test_tables_of_a_paper_are_merged() -> None:
    ours, shared, other = (
        PaperRow(name, name.title(), segment_scorer("wer"), paper={"average": 0.5} if paper else {})
        for name, paper in (("ours", False), ("shared", True), ("other", True))
    )
    results = []
    for number, rows in enumerate([(ours, shared), (shared, other)], 1):
        table = PaperTable("t", "T", "P", "none", "pearson", rows, number=f"Table {number}")
        figures = (PaperFigure(row.name, "average", "pearson", 0.5, 0.5, None) for row in rows)
        results.append(PaperResults(table, tuple(figures)))
    shown = [list(row)[:2] for row in side_by_side(results).rows]
    assert shown == [["Shared", "1, 2"], ["Other", "2"], ["Ours", ""]]
