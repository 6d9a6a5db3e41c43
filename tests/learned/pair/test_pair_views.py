"""Views: a pair regressor reads reference, source or both, and may learn to score with each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.plan import DevelopmentPlan, Plan, SourcePlan, StagePlan
from adequa.learned.pair.subsets import SegmentJudgements
from adequa.learned.pair.views import Pair, View, parts_read, richest_pairs, view_table
from adequa.metrics.registry import load_metric
from adequa.progress import Progress
from adequa.segments import Segments
from tiny_transformer import IDS, outputs, tiny_preferences, tiny_ratings, write_tiny_encoder

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytest.importorskip("transformers", reason="transformers is not installed")

from adequa.learned.pair.data import PairData, collect  # noqa: E402
from adequa.learned.pair.objectives import Distillation, RatingRegression  # noqa: E402
from tiny_pair_data import NONE_HELD_OUT, lengths_as_scores  # noqa: E402  # needs PyTorch

QUICK = StagePlan("ratings", batch=(8,), epochs=(4.0,), learning_rate=(5e-3,))
LONG = replace(QUICK, epochs=(10.0,))
SHORT = replace(QUICK, epochs=(1.0,))
UNSEEN, QUALITY = outputs(30, seed=9)
ALL: tuple[View, ...] = ("both", "reference", "source")


def with_sources(texts: Segments, *, references: bool = True) -> Segments:
    """Texts whose source is the reference with another last word."""
    sources = tuple(f"{cells[0].rpartition(' ')[0]} far" for cells in texts.references)
    shown = texts.references if references else ((),) * len(texts)
    return replace(texts, references=shown, sources=sources)


def ratings(count: int = 36, seed: int = 0, *, references: bool = True, name: str = "") -> Ratings:
    result = tiny_ratings(count, seed, name or "rated")
    assert result.segments is not None
    return replace(result, segments=with_sources(result.segments, references=references))


def preferences() -> Preferences:
    result = tiny_preferences(30)
    assert result.better is not None
    assert result.worse is not None
    return replace(result, better=with_sources(result.better), worse=with_sources(result.worse))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_encoder(tmp_path_factory.mktemp("encoder"), dropout=0.1))


def fitted(
    encoder: str, inputs: tuple[View, ...], *data: SegmentJudgements, **plan: Any
) -> PairRegressor:
    settings: dict[str, Any] = {"encoder": encoder, "inputs": inputs, "stage": (QUICK,), **plan}
    return PairRegressor(Plan(**settings), device="cpu").fit(list(data) or [ratings()])


@pytest.fixture(scope="module")
def unified(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Trained on ratings with and without references; no test changes it."""
    folder = tmp_path_factory.mktemp("metrics") / "unified"
    data = ratings(), ratings(24, 3, references=False, name="without")
    fitted(encoder, ALL, *data, stage=(LONG,)).save(folder)
    return f"{folder}:device=cpu"


def gathered(
    inputs: tuple[View, ...], *stages: StagePlan, data: Sequence[SegmentJudgements]
) -> PairData:
    plan = Plan(encoder="e", inputs=inputs, development=NONE_HELD_OUT, stage=stages or (QUICK,))
    return collect(plan, data, lambda _: ratings(), lengths_as_scores)


def few(*rows: tuple[str, str, str, float]) -> Ratings:
    """Hypothesis, reference (all or none), source and rating."""
    texts = Segments(
        tuple(row[0] for row in rows),
        tuple((row[1],) if row[1] else () for row in rows),
        tuple(row[2] for row in rows),
    )
    return Ratings(np.array([row[3] for row in rows]), {}, texts, name="few")


# What is read


def test_what_a_metric_of_these_views_needs() -> None:
    assert parts_read(("reference",)) == {"reference": "required"}
    assert parts_read(("source",)) == {"source": "required"}
    assert parts_read(("both",)) == {"reference": "required", "source": "required"}
    assert parts_read(("both", "reference")) == {"reference": "required", "source": "optional"}
    assert parts_read(ALL) == {"reference": "optional", "source": "optional"}


def test_the_richest_view_of_each_segment() -> None:
    texts = Segments(("h", "g"), (("r", "q"), ("p",)), ("s", "t"))
    pairs, segment = richest_pairs(texts, ALL)
    assert pairs == [("r", "s", "h"), ("q", "s", "h"), ("p", "t", "g")]
    assert segment.tolist() == [0, 0, 1]
    pairs, segment = richest_pairs(texts, ("source",))
    assert (pairs, segment.tolist()) == ([("", "s", "h"), ("", "t", "g")], [0, 1])
    bare = replace(texts, references=((), ()))
    assert richest_pairs(bare, ALL)[0] == pairs
    assert richest_pairs(replace(texts, sources=None), ALL)[0] == [
        ("r", "h"),
        ("q", "h"),
        ("p", "g"),
    ]


def test_a_separator_comes_before_every_source(encoder: str) -> None:
    model = fitted(encoder, ALL, stage=(SHORT,)).model_
    rows = model.inputs([("cat", "dog"), ("", "cat", "dog"), ("cat", "mat", "dog")], "fp32", 99)
    cls, sep, cat, dog, mat = (IDS[word] for word in ("[CLS]", "[SEP]", "cat", "dog", "mat"))
    assert rows.rows.ids.tolist() == [
        cls, cat, sep, dog, sep,
        cls, sep, cat, sep, dog, sep,
        cls, cat, sep, mat, sep, dog, sep,
    ]  # fmt: skip


# The data of a training


def test_items_are_shown_in_views_that_their_texts_allow() -> None:
    items: list[Pair] = [("r", "s", "h"), ("r", "s", "g"), ("p", "h"), ("", "s", "h")]
    pairs, table = view_table(items, ALL)
    assert table is not None
    assert [pairs[row] for row in table.richest] == [
        ("r", "s", "h"), ("r", "s", "g"), ("p", "h"), ("", "s", "h"),
    ]  # fmt: skip
    draws = np.array([table.drawn((0, epoch)) for epoch in range(60)])
    assert (draws >= 0).all()
    for item, expected in enumerate([{1, 2, 3}, {1, 2, 3}, {2}, {3}]):
        kinds = {3 if pairs[row][0] == "" else 4 - len(pairs[row]) for row in draws[:, item]}
        assert {1: 1, 2: 2, 3: 3}.keys() >= kinds == expected
    first, second = ([len(pairs[row]) for row in draws[:, item]] for item in (0, 1))
    assert first == second  # of one segment, in the same view
    assert (table.drawn((0, 7)) == draws[7]).all()
    assert view_table(items[:2], ("both",)) == (items[:2], None)


def test_a_row_is_learnt_once_from_its_source() -> None:
    twice = replace(few(("h", "r", "s", 1), ("g", "r", "s", 2)), ids={})
    assert twice.segments is not None
    twice = replace(twice, segments=replace(twice.segments, references=(("r", "q"),) * 2))
    assert gathered(("source",), data=[twice]).texts == [("", "s", "h"), ("", "s", "g")]
    assert len(gathered(("reference",), data=[twice]).texts) == 4
    assert len(gathered(("both",), data=[twice]).texts) == 4


def test_rows_that_no_view_shows_are_left_out_with_a_note() -> None:
    data = gathered(
        ("source",), data=[few(("h", "r", "s", 1), ("g", "r", "", 2), ("f", "q", "t", 3))]
    )
    assert data.texts == [("", "s", "h"), ("", "t", "f")]
    (note,) = data.notes
    assert (
        note == 'few: 1 row cannot be learnt from: inputs = ["source"] needs a source in every row.'
    )
    bare = few(("h", "", "s", 1), ("g", "", "s", 2))
    with pytest.raises(AdequaError, match=r'inputs = \["reference"\] needs a reference in every'):
        gathered(("reference",), data=[bare])
    assert len(gathered(ALL, data=[bare]).texts) == 2


def test_outputs_of_a_source_are_held_out_together() -> None:
    """Whether they have references or not."""
    plan = Plan(
        encoder="e", inputs=ALL, stage=(QUICK,), development=DevelopmentPlan(share=0.4), seed=1
    )
    data = [ratings(60), ratings(60, references=False, name="without")]
    result = collect(plan, data, lambda _: ratings(), lengths_as_scores)
    assert result.views is not None
    (source,) = result.stages[0]
    learnt = result.views.pairs[source.objective.task(np.arange(len(source.objective))).pairs]
    held_out = result.views.pairs[result.development.rated]
    assert len(held_out)
    sources = [{result.texts[row][-2] for row in rows[:, 2]} for rows in (learnt, held_out)]
    assert not sources[0] & sources[1]


def test_a_teacher_that_needs_references_scores_those_that_have_them() -> None:
    stage = replace(SHORT, objective="distillation", teacher=("chrf",), crossed=1, joined=0.5)
    both = [ratings(12), ratings(12, 4, references=False, name="without")]
    result = gathered(ALL, stage, data=both)
    assert result.notes == ("10 texts cannot be distilled, because chrf needs a reference.",)
    assert all(len(pair) == 2 or pair[0] or pair[1] for pair in result.texts)
    with pytest.raises(AdequaError, match="chrf needs a reference, and no text to distil has that"):
        gathered(ALL, stage, data=both[1:])


def test_outputs_against_each_other_have_no_source() -> None:
    """A source and an output have one target: the score against the reference of the source."""
    stage = replace(SHORT, objective="distillation", teacher=("chrf",))
    plain = gathered(ALL, stage, data=[ratings(12)])
    crossed = gathered(ALL, replace(stage, crossed=2), data=[ratings(12)])
    more = set(crossed.texts) - set(plain.texts)
    assert more
    assert all(len(pair) == 2 for pair in more)  # reference and hypothesis
    assert crossed.views is not None
    (source,) = crossed.stages[0]
    assert isinstance(source.objective, Distillation)
    targets = dict[int, set[float]]()
    shown = crossed.views.in_view("source")[source.objective.pairs]
    for pair, target in zip(shown.tolist(), source.objective.targets.tolist(), strict=True):
        if pair >= 0:
            targets.setdefault(pair, set()).add(target)
    assert targets
    assert all(len(each) == 1 for each in targets.values())


def test_outputs_against_each_other_need_what_they_have(encoder: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "both")
    fitted(encoder, ("both",), stage=(SHORT,)).save(folder)
    stage = replace(SHORT, objective="distillation", teacher=(folder,), crossed=1)
    with pytest.raises(AdequaError, match="needs a source, and outputs that are distilled against"):
        gathered(ALL, stage, data=[ratings(12)])
    plan = Plan(start=folder, stage=(replace(stage, teacher=("chrf",)),))
    with pytest.raises(AdequaError, match='crossed takes other outputs .* inputs with "reference"'):
        PairRegressor(plan, device="cpu").fit([ratings(12)])


def test_a_teacher_may_read_sources(unified: str) -> None:
    stage = replace(SHORT, objective="distillation", teacher=(unified,), joined=0.5)
    result = gathered(("source",), stage, data=[ratings(12, references=False)])
    assert result.notes == ()
    assert result.stages[0][0].facts["joined"] > 0


def test_every_language_pair_of_a_dataset_has_a_scale() -> None:
    stage = replace(SHORT, own_scale="pair")
    (source,) = gathered(
        ("reference",), stage, data=[ratings(), ratings(24, 3, name="more")]
    ).stages[0]
    assert [(each.dataset, each.lp, each.scale) for each in source.scaled_sets] == [
        ("rated", "cs-en", 0), ("rated", "de-en", 1), ("more", "cs-en", 2), ("more", "de-en", 3),
    ]  # fmt: skip
    assert isinstance(source.objective, RatingRegression)
    scales = source.objective.scales
    for number in range(4):
        targets = source.objective.targets[scales == number]
        assert (targets.mean(), targets.std()) == pytest.approx((0, 1))
    constant = replace(ratings(), scores=np.arange(36.0) * (np.arange(36) // 3 % 2))
    with pytest.raises(AdequaError, match=r"^rated de-en: A metric learns from ratings that diff"):
        gathered(("reference",), stage, data=[constant])


# The metric


def test_a_source_only_metric_ignores_references(encoder: str) -> None:
    metric = fitted(encoder, ("source",), ratings(references=False), stage=(LONG,))
    assert metric.reads == {"source": "required"}
    texts = with_sources(UNSEEN)
    scores = metric.score(texts).segments
    for references in ((("good bad",),) * 30, ((),) * 30):
        other = metric.score(replace(texts, references=references))
        assert (other.segments == scores).all()
        assert "|inputs:source|" in str(other.signature)
    assert np.corrcoef(scores, QUALITY)[0, 1] > 0.7
    with pytest.raises(AdequaError, match="needs sources, and there are none"):
        metric.score(UNSEEN)


def test_a_unified_metric_scores_by_each_view(unified: str) -> None:
    metric = load_metric(unified)
    assert metric.reads == {"reference": "optional", "source": "optional"}
    whole = with_sources(UNSEEN)
    views = {
        "both": whole,
        "reference": UNSEEN,
        "source": with_sources(UNSEEN, references=False),
    }
    scores = {}
    for view, texts in views.items():
        assert f"|inputs:{view}|" in str(metric.score(texts).signature)
        scores[view] = metric.score(texts).segments
        assert np.corrcoef(scores[view], QUALITY)[0, 1] > 0.7
    assert not np.allclose(scores["both"], scores["reference"])
    assert not np.allclose(scores["reference"], scores["source"])
    # Scores of several views are not comparable: a test set is read in one.
    some = replace(whole, sources=("", *(whole.sources or ())[1:]))
    with pytest.raises(AdequaError, match="give every segment its source"):
        metric.score(some)
    assert "|inputs:both+reference|" in str(metric.signature(1))
    assert "|inputs:reference|" in str(metric.signature(1, sources=False))
    assert "|inputs:source|" in str(metric.signature(0))


def test_scores_do_not_depend_on_the_batch(unified: str) -> None:
    whole = with_sources(UNSEEN)
    together = load_metric(unified).score(whole).segments
    small = load_metric(f"{unified},most_tokens=24").score(whole).segments
    alone = load_metric(unified).score(whole.select([5])).segments
    np.testing.assert_allclose(small, together, atol=1e-4)
    np.testing.assert_allclose(alone, together[5:6], atol=1e-4)


def test_development_figures_of_every_view(unified: str) -> None:
    metric = load_metric(unified)
    assert isinstance(metric, PairRegressor)
    figures = metric.agreement_
    names = {"pearson", "pearson_both", "pearson_reference", "pearson_source"}
    assert names <= figures.keys()
    card = (Path(unified.partition(":")[0]) / "README.md").read_text()
    assert "together with its reference and source, or reference, or source." in card
    assert "-r references.txt -s sources.txt" in card
    assert "Pearson, source" in card


def test_all_objectives_learn_in_every_view(encoder: str) -> None:
    beside = (
        SourcePlan("damage", batch=(4,)),
        SourcePlan("distillation", teacher=("chrf",), batch=(8,)),
        SourcePlan("ratings", batch=(8,)),
    )
    stage = replace(SHORT, objective="preferences", batch=(4,), beside=beside)
    metric = fitted(encoder, ("reference", "source"), preferences(), ratings(), stage=(stage,))
    assert {"accuracy", "accuracy_source"} <= metric.agreement_.keys()
    assert np.isfinite(metric.score(with_sources(UNSEEN, references=False)).segments).all()


def test_a_stopped_training_draws_the_same_views(encoder: str, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(step: int, _: int) -> None:
        if step == 9:
            raise StopError

    from adequa.learned import training

    stage = replace(QUICK, epochs=(3.0,), own_scale="pair")
    plan = Plan(encoder=encoder, inputs=ALL, stage=(stage,))
    metric = PairRegressor(
        plan, device="cpu", checkpoints=tmp_path / "stopped", seconds_between_checkpoints=0
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SECONDS_BETWEEN_REPORTS", 0.0)
        with pytest.raises(StopError):
            metric.fit(ratings(), Progress(step=stop))
        metric.fit(ratings())
    whole = PairRegressor(plan, device="cpu").fit(ratings())
    ours, theirs = (each.model_.network.state_dict() for each in (metric, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_inputs_of_a_start_stay_unless_the_plan_names_others(
    unified: str, encoder: str, tmp_path: Path
) -> None:
    folder = unified.partition(":")[0]
    slow = replace(SHORT, epochs=(0.2,))
    again = PairRegressor(Plan(start=folder, stage=(slow,)), device="cpu").fit(ratings())
    assert again.inputs == ALL
    plan = Plan(start=folder, inputs=("source",), stage=(slow,))
    assert PairRegressor(plan, device="cpu").fit(ratings()).inputs == ("source",)
    surface = fitted(encoder, ("reference",), surface=True, stage=(slow,))
    surface.save(tmp_path / "surface")
    plan = Plan(start=str(tmp_path / "surface"), inputs=ALL, stage=(slow,))
    with pytest.raises(AdequaError, match="surface features compare"):
        PairRegressor(plan, device="cpu").fit(ratings())


def test_a_folder_without_inputs_reads_the_reference(encoder: str, tmp_path: Path) -> None:
    metric = fitted(encoder, ("reference",), stage=(SHORT,))
    metric.save(tmp_path / "old")
    path = tmp_path / "old" / "metric.json"
    described = json.loads(path.read_text())
    del described["settings"]["inputs"], described["settings"]["plan"]["inputs"]
    path.write_text(json.dumps(described))
    old = load_metric(f"{tmp_path / 'old'}:device=cpu")
    assert old.reads == {"reference": "required"}
    assert (old.score(UNSEEN).segments == metric.score(UNSEEN).segments).all()
    assert (old.score(with_sources(UNSEEN)).segments == metric.score(UNSEEN).segments).all()
    assert "inputs" not in str(old.signature(1))


def test_other_views_are_not_exported_or_averaged(
    unified: str, encoder: str, tmp_path: Path
) -> None:
    from adequa.learned.ensemble import average_metrics
    from adequa.learned.packed.packing import pack

    metric = load_metric(unified)
    assert isinstance(metric, PairRegressor)
    with pytest.raises(AdequaError, match="reads reference or source, and so far only a metric"):
        pack(metric, UNSEEN, tmp_path / "packed")
    other = fitted(encoder, ("reference",), stage=(SHORT,))
    other.encoder_ = metric.encoder
    with pytest.raises(AdequaError, match="their inputs differ"):
        average_metrics([metric, other], "mean")
