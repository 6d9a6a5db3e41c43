"""Columns of a table that are measured on other data: figures, intervals, scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adequa.datasets.load import load_dataset
from adequa.judgements import Preferences
from adequa.metrics.registry import load_metric
from adequa.reproduce.lexical import lexical
from adequa.reproduce.outputs import of_compared
from adequa.reproduce.page import page, side_by_side
from adequa.reproduce.results import Results, Row, read_results
from adequa.reproduce.run import reproduce
from adequa.reproduce.table import Further, System, Table
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


def small(data: tuple[str, str]) -> Table:
    split, compared = data
    return Table(
        name="small",
        title="A small table",
        paper="Nobody (2000), Table 1",
        dataset=str(RATINGS),
        statistic="pearson",
        systems=(
            System(
                "chrf",
                "chrF",
                lexical("chrf"),
                paper={"half": 0.5},
                further={
                    "half": lexical("chrf"),
                    "systems": of_compared(lambda: load_metric("chrf")),
                },
            ),
            System("wer", "WER", lexical("wer")),
        ),
        further=(
            Further("half", split, {"half": "pearson", "half-rank": "spearman"}, split="test"),
            Further("systems", compared, {"system": "spearman"}, level="system"),
        ),
    )


def test_figures_come_from_the_scores_of_the_part(tmp_path: Path, data: tuple[str, str]) -> None:
    found = small(data)
    results = reproduce(found, tmp_path / "results")
    rows = {(row.system, row.column): row for row in results.rows}
    half = rows["chrf", "half"]
    human = ratings()[0][1::2]
    scores = np.loadtxt(tmp_path / "results" / "scores" / "small" / "chrf.half.tsv.gz")[1::2]
    assert half.scores == "chrf.half.tsv.gz"
    assert half.measured == pytest.approx(stats.pearsonr(human, scores)[0], abs=1e-5)
    assert rows["chrf", "half-rank"].measured == pytest.approx(
        stats.spearmanr(human, scores)[0], abs=1e-5
    )
    assert half.paper == 0.5
    assert half.interval is not None
    assert half.measured is not None
    assert half.interval[0] < half.measured < half.interval[1]
    assert rows["chrf", "system"].measured == 1  # people's order is chrF's
    assert ("wer", "half") not in rows
    assert rows["wer", "average"].interval is None
    assert read_results(found, tmp_path / "results") == results


def test_only_rows_that_have_an_interval_keep_one(tmp_path: Path, data: tuple[str, str]) -> None:
    reproduce(small(data), tmp_path)
    kept = json.loads((tmp_path / "small.json").read_text())["rows"]
    assert {row["column"] for row in kept if "interval" in row} >= {"half", "half-rank"}
    assert all("interval" not in row for row in kept if row["column"] == "average")


def test_the_page_shows_intervals_and_where_columns_come_from(
    tmp_path: Path, data: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = small(data)
    results = reproduce(found, tmp_path)
    header, lines = side_by_side(found, results)
    assert header[-3:] == ["half", "half-rank", "system"]
    assert [line[1] for line in lines] == [
        "paper",
        "measured",
        "interval",
        "difference",
        "measured",
    ]
    monkeypatch.setattr("adequa.reproduce.page.TABLES", {"small": ""})
    monkeypatch.setattr("adequa.reproduce.page.table", lambda _: found)
    written = page(tmp_path)
    assert "- `half` (pearson) and `half-rank` (spearman): " in written
    assert "of whole systems, scores in `SYSTEM.systems.tsv.gz`" in written


def test_compared_systems_are_scored_by_all_they_said(data: tuple[str, str]) -> None:
    from adequa.progress import NO_PROGRESS

    judgements = load_dataset(data[1])
    assert isinstance(judgements, Preferences)
    scored = of_compared(lambda: load_metric("bleu"))(judgements, NO_PROGRESS)
    by_hand = {
        name: load_metric("bleu").score(_segments(texts)).system for name, texts in OUTPUTS.items()
    }
    assert dict(zip(scored.ids["system"], scored.scores, strict=True)) == pytest.approx(by_hand)


def _segments(texts: tuple[str, ...]) -> Segments:
    return Segments(texts, tuple((reference,) for reference in REFERENCE))


def test_a_figure_of_0_in_the_paper_is_a_figure() -> None:
    nothing = Table(
        "small", "A small table", "Nobody (2000)", "none", "pearson",
        (System("one", "One", lexical("wer"), paper={"de-en": 0.0}),),
    )  # fmt: skip
    rows = (Row("one", "de-en", "pearson", 0.0, 0.25, None),)
    _, lines = side_by_side(nothing, Results("small", rows))
    assert lines == [
        ["One", "paper", "0.000"],
        ["", "measured", "0.250"],
        ["", "difference", "+0.250"],
    ]
