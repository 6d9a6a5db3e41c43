"""Tables of whole systems: scores of systems, pooled accuracy, and the stored figures."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from adequa.agreement.evaluate import evaluate
from adequa.agreement.protocol import Protocol
from adequa.agreement.results import POOLED
from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.io.score_files import ScoreFile
from adequa.judgements import RatedSystems, Ratings
from adequa.metrics.registry import load_metric
from adequa.progress import NO_PROGRESS, Progress
from adequa.reproduce.measure import reproduce
from adequa.reproduce.paper_table import (
    PaperResults,
    PaperRow,
    PaperTable,
    RowScores,
    load_table,
)
from adequa.reproduce.scorers import segment_scorer, system_scorer, system_scorer_by_name
from judgements import FOLDER, needs_judgements
from test_cli import adequa

STORED = Path(__file__).parent.parent / "results"
TABLES = ("wmt17-systems", "wmt18-systems")
PLAIN = Protocol(statistic="accuracy", over="none", test="none")

Key = tuple[str, str]  # language pair and system

REFERENCE = ("the cat sat on the mat", "a dog barked at the old tree")
OUTPUTS = {
    ("de-en", "good"): REFERENCE,
    ("de-en", "fair"): ("the cat sat on a mat", "a dog barked at the tree"),
    ("de-en", "poor"): ("cat mat", "the tree and a dog that barked"),
    ("cs-en", "good"): ("a cat sat on the mat", "dog barked at the old tree"),
    ("cs-en", "poor"): ("cats were sitting there", "some tree"),
}
# People swap two of the de-en systems, and the systems of cs-en.
HUMAN = dict(zip(OUTPUTS, (0.1, 0.3, -0.5, -0.2, 0.2), strict=True))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A set of rated systems as a file."""
    texts = {f"set/{pair}/{system}.txt": lines for (pair, system), lines in OUTPUTS.items()}
    texts |= {f"set/{pair}/reference.txt": REFERENCE for pair in ("de-en", "cs-en")}
    human = ("lp\tsystem\tscore", *("\t".join((*key, str(HUMAN[key]))) for key in HUMAN))
    path = tmp_path / "set.tar"
    with tarfile.open(path, "w") as file:
        for name, lines in {**texts, "set/human.tsv": human}.items():
            content = "".join(f"{line}\n" for line in lines).encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


def small(archive: Path, *metrics: str) -> PaperTable:
    return PaperTable(
        name="small",
        title="A small table",
        paper="of nobody",
        dataset=str(archive),
        statistic="accuracy",
        rows=tuple(PaperRow(name, name, system_scorer_by_name(name)) for name in metrics),
        main=POOLED,
    )


def by_loops(human: dict[Key, float], metric: dict[Key, float]) -> dict[str, float]:
    """Accuracy by language pair, its mean, and over the pairs of systems of all of them."""
    right = defaultdict(list)
    for first, second in combinations(human, 2):
        if first[0] == second[0]:
            people, scores = human[first] - human[second], metric[first] - metric[second]
            right[first[0]].append((people > 0, people < 0) == (scores > 0, scores < 0))
    accuracy = {pair: float(np.mean(each)) for pair, each in right.items()}
    means = {"average": float(np.mean(list(accuracy.values())))}
    return (
        accuracy | means | {"pooled": float(np.mean([r for all_ in right.values() for r in all_]))}
    )


def stored(path: Path) -> dict[Key, float]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        header, *rows = (line.rstrip("\n").split("\t") for line in file)
    assert header == ["lp", "system", "score"]
    assert len({(pair, system) for pair, system, _ in rows}) == len(rows)
    return {(pair, system): float(score) for pair, system, score in rows}


def test_figures_and_scores_of_a_small_table(archive: Path, tmp_path: Path) -> None:
    reproduce(small(archive, "bleu", "chrf", "wer"), tmp_path / "results")
    rows = json.loads((tmp_path / "results" / "small.json").read_text())["rows"]
    assert len(rows) == 3 * 4
    for row in rows:
        # By hand: of three pairs in de-en one is swapped, and the only one of cs-en.
        by_hand = {"cs-en": 0, "de-en": 2 / 3, "average": 1 / 3, "pooled": 2 / 4}
        assert row["measured"] == pytest.approx(by_hand[row["column"]], abs=1e-5)
        scores = stored(tmp_path / "results" / "scores" / "small" / row["scores"])
        assert sorted(scores) == sorted(HUMAN)
        assert by_loops(HUMAN, scores)[row["column"]] == pytest.approx(by_hand[row["column"]])


def test_the_command_recomputes_the_figure_from_the_file(archive: Path, tmp_path: Path) -> None:
    (row,) = (
        figure
        for figure in reproduce(small(archive, "ter"), tmp_path).figures
        if figure.column == "average"
    )
    path = tmp_path / "scores" / "small" / "ter.tsv.gz"
    settings = ("--statistic", "accuracy", "--over", "none", "--test", "none", "--format", "json")
    shown = adequa("evaluate", archive, "-m", path, *settings)
    assert shown.returncode == 0, shown.stderr
    assert '"average"' in shown.stdout
    assert row.measured == pytest.approx(1 / 3, abs=1e-5)
    assert "0.33333" in shown.stdout


def test_scores_are_those_of_another_implementation(archive: Path) -> None:
    judgements = load_dataset(archive)
    scored = system_scorer(lambda: load_metric("bleu"))(judgements, NO_PROGRESS)
    for pair, system, score in zip(*scored.ids.values(), scored.scores, strict=True):
        whole = sacrebleu.corpus_bleu(OUTPUTS[pair, system], [REFERENCE])
        assert score == pytest.approx(whole.score)
    assert scored.settings.startswith("bleu|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|")


@pytest.mark.parametrize("name", ["chrf", "wer", "sentbleu", "nist"])
def test_scores_are_those_that_evaluate_takes(name: str, archive: Path) -> None:
    """Lower is better for WER, and NIST looks at a whole corpus."""
    judgements = load_dataset(archive)
    counted: list[int] = []
    scored = system_scorer(lambda: load_metric(name))(
        judgements, Progress(texts_scored=counted.append)
    )
    points = {part.name: part.metrics[0] for part in evaluate(judgements, [name], PLAIN).points}
    pairs = np.array(scored.ids["lp"])
    for pair, scores in points.items():
        assert scored.scores[pairs == pair] == pytest.approx(scores)
    assert sum(counted) == 2 * len(OUTPUTS)


def test_only_whole_systems_with_outputs_are_scored(archive: Path) -> None:
    judgements = load_dataset(archive)
    assert isinstance(judgements, RatedSystems)
    scores = system_scorer(lambda: load_metric("chrf"))
    with pytest.raises(AdequaError, match=r"chrf needs texts to score, and these judgements have"):
        scores(RatedSystems(judgements.ratings), NO_PROGRESS)
    with pytest.raises(AdequaError, match=r"^set\.tar has no judgements of segments"):
        segment_scorer("chrf")(judgements, NO_PROGRESS)


def test_scores_that_lack_a_system_make_no_row(archive: Path, tmp_path: Path) -> None:

    def lacking(*_: object) -> RowScores:
        return RowScores(np.array([1.0]), "lacking", {"lp": ("de-en",), "system": ("good",)})

    unfit = replace(small(archive), rows=(PaperRow("lacking", "Lacking", lacking),))
    with pytest.raises(AdequaError, match="has no score for 4 of 5"):
        reproduce(unfit, tmp_path)
    assert not (tmp_path / "small.json").exists()


SCORED = st.lists(
    st.tuples(st.sampled_from(["cs-en", "de-en", "fi-en"]), st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=12,
)


@given(SCORED)
def test_pooled_accuracy_counts_every_pair_of_systems_once(
    rows: list[tuple[str, int, int]],
) -> None:
    """Also where scores tie, and where a language pair has one system and thus no accuracy."""
    keys = [(pair, f"system {at}") for at, (pair, _, _) in enumerate(rows)]
    ids = dict(zip(("lp", "system"), zip(*keys, strict=True), strict=True))
    people, metric = (np.array(column, dtype=float) for column in list(zip(*rows, strict=True))[1:])
    agreement = evaluate(
        RatedSystems(Ratings(people, ids)), [ScoreFile("file", ids, metric)], PLAIN
    )
    assert agreement.pooled is not None
    pooled = agreement.pooled.values[0]
    pairs = sum(a[0] == b[0] for a, b in combinations(keys, 2))
    if not pairs:
        assert np.isnan(pooled)
        return
    human, scores = (dict(zip(keys, values.tolist(), strict=True)) for values in (people, metric))
    assert pooled == pytest.approx(by_loops(human, scores)["pooled"])


# The results in the repository.


@pytest.mark.parametrize("name", TABLES)
def test_stored_pooled_figures_are_the_weighted_means_of_the_columns(name: str) -> None:
    results = PaperResults.read(load_table(name), STORED)
    for system in results.measurements:
        figures = {f.column: f.measured or 0.0 for f in results.figures if f.system == system}
        (path,) = {str(f.scores) for f in results.figures if f.system == system}
        systems = [pair for pair, _ in stored(STORED / "scores" / name / path)]
        *pairs, mean, whole = figures
        assert (mean, whole) == ("average", "pooled")
        values = [figures[pair] for pair in pairs]
        weights = [systems.count(pair) * (systems.count(pair) - 1) / 2 for pair in pairs]
        assert figures["pooled"] == pytest.approx(np.average(values, weights=weights), abs=2e-5)
        assert figures["average"] == pytest.approx(np.mean(values), abs=2e-5)
        details = (STORED / "details" / "systems.md").read_text(encoding="utf-8")
        details = " ".join(details.split())
        assert f"{sum(weights):.0f} in all" in details
        assert all(f"{w:.0f} ({p})" in details for p, w in zip(pairs, weights, strict=True))


def member(name: str, path: str) -> list[str]:
    with tarfile.open(Path(FOLDER or "", f"{name}.tar.xz")) as file:
        content = file.extractfile(f"{name}/{path}")
        assert content is not None
        return content.read().decode().splitlines()


@needs_judgements
@pytest.mark.parametrize("name", TABLES)
def test_stored_accuracies_come_from_the_kept_scores(name: str) -> None:
    _, *rows = (line.split("\t") for line in member(name, "human.tsv"))
    human = {(pair, system): float(score) for pair, system, score in rows}
    results = PaperResults.read(load_table(name), STORED)
    for system in results.measurements:
        figures = [figure for figure in results.figures if figure.system == system]
        scores = stored(STORED / "scores" / name / str(figures[0].scores))
        assert set(scores) == set(human)
        expected = by_loops(human, scores)
        assert {figure.column for figure in figures} == set(expected)
        for row in figures:
            assert row.measured == pytest.approx(expected[row.column], abs=1e-5)


@needs_judgements
@pytest.mark.parametrize("name", TABLES)
def test_stored_bleu_is_that_of_another_implementation(name: str) -> None:
    scores = stored(STORED / "scores" / name / "bleu.tsv.gz")
    system = min(system for pair, system in scores if pair == "cs-en")
    outputs, references = (member(name, f"cs-en/{file}.txt") for file in (system, "reference"))
    whole = sacrebleu.corpus_bleu(outputs, [references])
    assert scores["cs-en", system] == pytest.approx(whole.score)
