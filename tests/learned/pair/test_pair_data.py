"""The data of a plan: what is held out is never learnt from, and what is learnt is all the rest."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.datasets.load import load_dataset
from adequa.errors import AdequaError
from adequa.judgements import FileRows, Judgements, Preferences, RatedSystems, Ratings
from adequa.learned.pair.subsets import SegmentJudgements
from adequa.segments import Segments

pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.damage.registry import PERTURBATIONS, SYMBOLS
from adequa.damage.symbols import EMOJI
from adequa.learned.pair.data import segments_with_emoji
from adequa.learned.pair.objectives import (
    DamageOrder,
    Distillation,
    PreferenceOrder,
    RatingRegression,
)
from adequa.learned.pair.plan import DevelopmentPlan, SourcePlan, StagePlan
from judgements import FOLDER, needs_judgements
from small_archives import known_rows
from tiny_pair_data import (  # needs PyTorch
    PREFERENCES,
    RATINGS,
    collected,
    developed_pairs,
    learnt_pairs,
    lengths_as_scores,
    preferred,
    rated,
    sentence,
)
from tiny_transformer import tiny_preferences, tiny_ratings


def test_ratings_are_brought_to_one_scale() -> None:
    data = collected(RATINGS, judgements=[rated(("h", "r", 10), ("g", "r", 30), ("h", "s", 20))])
    (source,) = data.stages[0]
    assert isinstance(source.objective, RatingRegression)
    assert source.scale is not None
    assert source.scale == pytest.approx((20, np.std([10, 20, 30])))
    assert source.objective.targets == pytest.approx(np.array([-1, 1, 0]) * 1.5**0.5)
    assert [data.texts[pair] for pair in source.objective.pairs] == [
        ("r", "h"), ("r", "g"), ("s", "h"),
    ]  # fmt: skip


def test_every_reference_of_a_rating_is_learnt() -> None:
    data = collected(RATINGS, judgements=[rated(("h", "r|s", 10), ("g", "r", 30))])
    assert learnt_pairs(data) == {("r", "h"), ("s", "h"), ("r", "g")}


def test_preferences_with_several_references() -> None:
    """Better than with each of them, and one item for all outputs of one segment."""
    judged = preferred(("a", "b", "r|s"), ("b", "c", "s"), ("a", "b", "t"), ("a", "b", "t"))
    (source,) = collected(replace(PREFERENCES, split=1), judgements=[judged]).stages[0]
    assert isinstance(source.objective, PreferenceOrder)
    assert len(source.objective) == 2
    assert source.objective.task(np.arange(2)).weight == 5
    (dealt,) = collected(replace(PREFERENCES, split=3), judgements=[judged]).stages[0]
    assert dealt.objective.task(np.arange(len(dealt.objective))).weight == 5
    apart = collected(replace(PREFERENCES, split=0), judgements=[judged])
    assert len(apart.stages[0][0].objective) == 4


def test_the_same_text_is_no_preference() -> None:
    judged = preferred(("a", "a", "r"), ("a", "b", "r"))
    for stage, more in (
        (PREFERENCES, {"judgements": [judged]}),
        (replace(PREFERENCES, data=("x",)), {"files": {"x": judged}}),
    ):
        (source,) = collected(stage, **more).stages[0]
        assert source.objective.task(np.arange(1)).weight == 1


def test_each_stage_takes_its_own_kind() -> None:
    judgements: list[SegmentJudgements] = [tiny_ratings(), tiny_preferences()]
    data = collected(PREFERENCES, RATINGS, judgements=judgements)
    assert [source.facts["rows_by_dataset"] for (source,) in data.stages] == [
        {"ranked": len(judgements[1])}, {"rated": 48},
    ]  # fmt: skip
    assert data.development_rows == {"ratings": 0, "preferences": 0}


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 0.6))
def test_no_held_out_reference_is_learnt_from(seed: int, share: float) -> None:
    """In no dataset of no stage; and what is not held out is learnt."""
    ours, theirs = tiny_ratings(36), tiny_preferences(36, seed=0)  # of the same references
    stages = (PREFERENCES, replace(RATINGS, beside=(SourcePlan("preferences"),)))
    try:
        data = collected(
            *stages, judgements=[ours, theirs], development=DevelopmentPlan(share=share), seed=seed
        )
    except AdequaError:
        return  # all was held out
    learnt = {reference for reference, _ in learnt_pairs(data)}
    validation = {reference for reference, _ in developed_pairs(data)}
    assert not learnt & validation
    assert ours.segments is not None
    assert learnt | validation == {several[0] for several in ours.segments.references}
    counts = data.development_rows
    assert counts["ratings"] == sum(r[0] in validation for r in ours.segments.references)
    assert theirs.better is not None
    assert counts["preferences"] == sum(r[0] in validation for r in theirs.better.references)


@given(
    rows=st.lists(st.sets(st.sampled_from("ABCDEFGH"), min_size=1, max_size=3), min_size=4),
    seed=st.integers(0, 99),
)
def test_nor_one_that_stands_beside_a_held_out_one(rows: list[set[str]], seed: int) -> None:
    judged = rated(*((f"h{at}", "|".join(sorted(row)), float(at)) for at, row in enumerate(rows)))
    try:
        data = collected(
            RATINGS, judgements=[judged], development=DevelopmentPlan(share=0.3), seed=seed
        )
    except AdequaError:
        return
    outputs = {hypothesis for _, hypothesis in developed_pairs(data)}
    assert judged.segments is not None
    beside = {
        reference
        for hypothesis, several in zip(
            judged.segments.hypotheses, judged.segments.references, strict=True
        )
        if hypothesis in outputs
        for reference in several
    }
    assert not beside & {reference for reference, _ in learnt_pairs(data)}


def test_development_data_of_its_own() -> None:
    ours, other = tiny_ratings(48), tiny_ratings(12, seed=0, name="dev")
    data = collected(
        RATINGS, judgements=[ours], files={"dev": other}, development=DevelopmentPlan(data=("dev",))
    )
    assert data.development_rows == {"ratings": 12, "preferences": 0}
    assert other.segments is not None
    validation = {several[0] for several in other.segments.references}
    learnt = {reference for reference, _ in learnt_pairs(data)}
    assert validation
    assert not learnt & validation
    assert len(np.unique(data.development.rating_groups)) == 2  # language pairs
    assert sorted(data.development.ratings) == sorted(other.scores)


# sha256("Hello.") is a multiple of 5, so that it is of the parts for development.
SMALL_ROWS = [
    {"year": 2021, "lp": "zh-en", "mt": output, "ref": reference}
    for reference in ("Hello.", "Yes.", "No.")
    for output in (f"{reference} A", f"{reference} B", "the same output")
]


def learnt_from_the_whole(whole: str, part: str) -> tuple[set[str], set[str], Ratings]:
    """References that are learnt, those of development, and the part named for it.

    The whole dataset is named for ratings, for distillation with outputs as references, and for
    damage.
    """
    data = collected(
        StagePlan("ratings", data=(whole,)),
        StagePlan("distillation", data=(whole,), crossed=1, joined=0.5),
        StagePlan("damage", data=(whole,)),
        files={name: load_dataset(name) for name in (whole, part)},
        development=DevelopmentPlan(data=(part,)),
    )
    held_out = load_dataset(part)
    assert isinstance(held_out, Ratings)
    assert data.development_rows["ratings"] == len(held_out)
    return (
        {reference for reference, _ in learnt_pairs(data)},
        {reference for reference, _ in developed_pairs(data)},
        held_out,
    )


def test_a_part_for_development_is_left_out_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADEQUA_DATA", "mirror")
    for whole, part in (("wmt21-da", "wmt21-da-dev"), ("wmt20-21-mqm", "wmt21-mqm-dev")):
        known_rows(monkeypatch, whole, SMALL_ROWS)
        learnt, developed, _ = learnt_from_the_whole(whole, part)
        assert developed == {"Hello."}
        assert not [reference for reference in learnt if "Hello." in reference]
        assert {"Yes.", "No.", "Yes. A"} <= learnt


@needs_judgements
def test_real_parts_for_development_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_DATA", str(FOLDER))
    learnt, developed, held_out = learnt_from_the_whole("wmt20-21-mqm", "wmt21-mqm-dev")
    assert held_out.segments is not None
    references = {reference for row in held_out.segments.references for reference in row}
    assert developed == references
    assert learnt.isdisjoint(references)


def test_few_rows_of_development_are_drawn() -> None:
    development = DevelopmentPlan(share=0.5, rows=7)
    data = collected(
        PREFERENCES,
        RATINGS,
        judgements=[tiny_ratings(), tiny_preferences()],
        development=development,
    )
    assert data.development_rows == {"ratings": 7, "preferences": 7}
    assert len(data.development.rating_groups) == 7


def test_a_dataset_of_two_stages_is_held_out_once() -> None:
    files: dict[str, Judgements] = {"x": tiny_preferences()}
    once = replace(PREFERENCES, data=("x",))
    development = DevelopmentPlan(share=0.3)
    alone = collected(once, files=files, development=development)
    twice = collected(once, once, files=files, development=development)
    assert twice.development_rows == alone.development_rows


def test_a_single_row_may_be_held_out() -> None:
    """One row has no correlation, nor have rows of the same rating; still they are no error."""
    rows = [(f"h{at}", f"r{at}", 1.0 if at < 8 else 2.0) for at in range(10)]
    for seed in range(12):
        data = collected(
            RATINGS, judgements=[rated(*rows)], development=DevelopmentPlan(share=0.2), seed=seed
        )
        assert len(learnt_pairs(data)) + data.development_rows["ratings"] == 10


def test_a_sample() -> None:
    judgements = [tiny_ratings(30, 0, "one"), tiny_ratings(30, 1, "two")]
    data = collected(replace(RATINGS, sample=20), judgements=judgements)
    (source,) = data.stages[0]
    assert source.facts["rows"] == 20
    assert sum(source.facts["rows_by_dataset"].values()) == 20
    again = collected(replace(RATINGS, sample=20), judgements=judgements)
    other = collected(replace(RATINGS, sample=20), judgements=judgements, seed=1)
    assert learnt_pairs(again) == learnt_pairs(data)
    assert learnt_pairs(other) != learnt_pairs(data)
    everything = collected(replace(RATINGS, sample=1000), judgements=judgements)
    assert everything.stages[0][0].facts["rows"] == 60
    single = collected(replace(RATINGS, sample=2), judgements=judgements)  # one of each, perhaps
    assert single.stages[0][0].facts["rows"] == 2


def test_language_pairs() -> None:
    ours = tiny_ratings(36)
    data = collected(replace(RATINGS, lp=("cz-en",)), judgements=[ours])
    assert data.stages[0][0].facts["rows"] == ours.ids["lp"].count("cs-en") == 18
    other = replace(tiny_ratings(12, 5, "other"), ids={"lp": ("fi-en",) * 12})
    both = collected(replace(RATINGS, lp=("fi-en",)), judgements=[ours, other])
    assert both.stages[0][0].facts["rows_by_dataset"] == {"other": 12}


def test_distillation_takes_every_output_once() -> None:
    judged = preferred(("a", "bb", "r"), ("bb", "ccc", "r"))
    stage = StagePlan("distillation", teacher=("t",))
    equal = rated(("dddd", "r", 1), ("a", "r", 1))  # ratings do not matter
    (source,) = collected(stage, judgements=[judged, equal]).stages[0]
    assert isinstance(source.objective, Distillation)
    assert source.scale is not None
    assert source.scale == pytest.approx((2.5, np.std([1, 2, 3, 4])))
    assert source.facts["texts"] == len(source.objective) == 4
    assert source.facts["teacher"] == ["t"]


def test_the_digest_changes_with_the_data() -> None:
    base = [("h", "r", 1.0), ("g", "r", 2.0), ("h", "s", 3.0), ("g", "s", 5.0)]
    dev = DevelopmentPlan(data=("dev",))
    validation = rated(("h", "t", 1.0), ("g", "t", 2.0))

    def digest(
        *rows: tuple[str, str, float],
        out: Ratings = validation,
        factor: float = 1,
        teachers: tuple[str, ...] = ("t",),
    ) -> str:
        return collected(
            replace(RATINGS, beside=(SourcePlan("distillation", teacher=teachers),)),
            judgements=[rated(*rows)],
            files={"dev": out},
            development=dev,
            teach=lambda names, texts: (
                lengths_as_scores(names, texts) + factor * np.arange(len(texts))
            ),
        ).digest

    digests = [
        digest(*base),
        digest(*base[:3], ("g", "s", 6.0)),
        digest(*base[:3], ("f", "s", 5.0)),
        digest(*base[:3], ("g", "u", 5.0)),
        digest(*base[:3]),
        digest(*base, out=rated(("h", "t", 2.0), ("g", "t", 1.0))),
        digest(*base, teachers=("other",)),
        digest(*base, teachers=("t", "other")),
    ]
    assert digest(*base) == digests[0]
    # A teacher may say something a little different the next time: no other data for that.
    assert digest(*base, factor=1 + 1e-9) == digests[0]
    assert len(set(digests)) == len(digests)


def test_texts_and_references_are_ahead_of_their_damaged_selves() -> None:
    output, references = "It did not cost 300 euros.", ("It was not 300 euros.", "Not 300 euros.")
    bad = ("Bad.", "|".join(references), 0)  # what is done to it may mend it
    judged = rated((output, "|".join(references), 1), ("No.", "Never.", 2), bad)
    stage = StagePlan("damage", damages=3, spared=("case",), margin=0.7)
    data = collected(stage, judgements=[judged], development=DevelopmentPlan(share=0))
    ((source,),) = data.stages
    objective = source.objective
    assert isinstance(objective, DamageOrder)
    assert objective.margin == 0.7
    edges = [
        (data.texts[objective.pairs[one]], data.texts[objective.pairs[other]])
        for one, other in zip(objective.better, objective.worse, strict=True)
    ]
    # The output beside each of its references, and the first reference beside itself.
    wholes = {(r, output) for r in references} | {(references[0],) * 2, ("Never.", "No.")}
    assert {whole for whole, _ in edges} == wholes | {("Never.", "Never.")}
    assert all(one[0] == other[0] and one[1] != other[1] for one, other in edges)
    assert sum(whole == (references[0], output) for whole, _ in edges) == 3
    # The same damage stands beside every reference.
    assert (
        len({other for (_, other) in (worse for whole, worse in edges if whole[1] == output)}) == 3
    )
    assert source.facts["texts"] == 4
    assert not set(source.facts["damages"]) & {
        k for k, p in PERTURBATIONS.items() if p.is_test_only
    }
    assert sum(source.facts["damages"].values()) == len(edges) - 3


@pytest.mark.parametrize(("fraction", "count"), [(0.0, 0), (0.25, 10), (1.0, 40)])
def test_a_fraction_of_the_texts_get_emoji_that_are_damaged(fraction: float, count: int) -> None:
    rows = [(f"It did cost {n} euros.", f"It was {n} euros.|Just {n} euros.", 1) for n in range(20)]
    stage = StagePlan("damage", symbols=fraction)
    data = collected(stage, judgements=[rated(*rows)])
    (source,) = data.stages[0]
    objective = source.objective
    assert isinstance(objective, DamageOrder)
    edges = {
        (data.texts[objective.pairs[one]], data.texts[objective.pairs[other]])
        for one, other in zip(objective.better, objective.worse, strict=True)
    }
    decorated = [(one, other) for one, other in edges if any(map(one[1].count, EMOJI))]
    for (reference, hypothesis), (beside, damaged) in decorated:
        (symbols, expected) = ([e for e in EMOJI if e in text] for text in (hypothesis, reference))
        assert symbols == expected
        assert beside == reference
        assert [e for e in EMOJI if e in damaged] != symbols  # and nothing else is damaged
        assert without_emoji(damaged) == without_emoji(hypothesis)
    # Twenty outputs and their first references, each with damage of one kind.
    assert len({hypothesis for (_, hypothesis), _ in decorated}) == count
    kinds = source.facts["damages"]
    assert sum(n for kind, n in kinds.items() if PERTURBATIONS[kind].group == SYMBOLS) == count
    assert sum(kinds.values()) == 40
    assert collected(stage, judgements=[rated(*rows)]).texts == data.texts
    assert collected(stage, judgements=[rated(*rows)], seed=1).texts != data.texts


def without_emoji(text: str) -> str:
    return re.sub(f" ?(?:{'|'.join(EMOJI)})", "", text)


def test_sources_get_the_same_emoji() -> None:
    texts = Segments(("It is so.",), (("It is.",),), sources=("Es ist so.",))
    decorated = segments_with_emoji(texts, Random(0))
    assert decorated.sources is not None
    sides = (*decorated.hypotheses, *decorated.references[0], *decorated.sources)
    (symbols,) = {tuple(emoji for emoji in EMOJI if emoji in side) for side in sides}
    assert symbols
    assert list(map(without_emoji, sides)) == ["It is so.", "It is.", "Es ist so."]


def test_texts_that_cannot_be_damaged() -> None:
    said = sentence(StagePlan("damage", spared=("cases",)), judgements=[rated(("a b", "c d", 1))])
    assert said.startswith('There is no group of damage named "cases". Did you mean "case"?')


def test_texts_that_no_one_judged_are_distilled(tmp_path: Path) -> None:
    plain = tmp_path / "plain.tsv"
    plain.write_text("lp\tmt\tref\ncs-en\ta\tr\nde-en\tbb\ts\ncz-en\ta\tr\n")
    stage = StagePlan("distillation", data=(str(plain),), teacher=("t",))
    data = collected(stage)
    assert learnt_pairs(data) == {("r", "a"), ("s", "bb")}
    assert data.stages[0][0].facts["rows_by_dataset"] == {"plain.tsv": 3}
    assert learnt_pairs(collected(replace(stage, lp=("cs-en",)))) == {("r", "a")}
    other = tmp_path / "other.tsv"
    other.write_text("mt\tref\na\tr\n")
    wanted = replace(stage, data=(str(other),), lp=("cs-en",))
    assert sentence(wanted) == "other.tsv has no language pairs to choose from."


def test_outputs_of_systems_are_distilled() -> None:
    outputs = Segments(("a", "bb", "a"), (("r",), ("s",), ("r",)), ids={"lp": ("cs-en",) * 3})
    human = Ratings(np.array([1.0]), {"lp": ("cs-en",), "system": ("x",)}, name="systems")
    stage = StagePlan("distillation", data=("systems",), teacher=("t",))
    data = collected(stage, files={"systems": RatedSystems(human, outputs)})
    assert learnt_pairs(data) == {("r", "a"), ("s", "bb")}
    said = sentence(stage, files={"systems": RatedSystems(human)})
    assert said == "There are no outputs of the systems in systems."


def test_outputs_are_taught_against_each_other() -> None:
    judgements = [
        rated(("a", "r", 1), ("bb", "r", 2), ("ccc", "r", 3), ("d", "s", 4), (" ", "r", 0))
    ]
    stage = StagePlan("distillation", teacher=("t",), crossed=2)
    own = {("r", " "), ("r", "a"), ("r", "bb"), ("r", "ccc"), ("s", "d")}
    every = {(one, other) for one in ("a", "bb", "ccc") for other in ("a", "bb", "ccc")}
    crossed = every - {("a", "a"), ("bb", "bb"), ("ccc", "ccc")}
    assert learnt_pairs(collected(stage, judgements=judgements)) == own | crossed
    once = learnt_pairs(collected(replace(stage, crossed=1), judgements=judgements))
    assert own < once < own | crossed
    assert sorted(other for reference, other in once - own) == ["a", "bb", "ccc"]


def test_joined_texts_are_taught_the_mean_of_their_parts() -> None:
    judgements = [rated(*((f"h{at} " * at, f"r{at}", float(at)) for at in range(40)))]
    stage = StagePlan("distillation", teacher=("t",))
    plain = collected(stage, judgements=judgements)
    data = collected(replace(stage, joined=0.5), judgements=judgements)
    (source,) = data.stages[0]
    singles = len(plain.stages[0][0].objective)
    assert source.facts["joined"] == len(source.objective) - singles == 5
    assert isinstance(source.objective, Distillation)
    assert source.scale is not None
    mean, spread = source.scale
    said = {
        data.texts[pair]: target * spread + mean
        for pair, target in zip(source.objective.pairs, source.objective.targets, strict=True)
    }
    assert {pair: said[pair] for pair in learnt_pairs(plain)} == pytest.approx(
        {pair: len(pair[1]) for pair in learnt_pairs(plain)}
    )
    for reference, hypothesis in said.keys() - learnt_pairs(plain):
        names = reference.split()
        assert 2 <= len(names) <= 4
        whole = [(name, f"h{name[1:]} " * int(name[1:])) for name in names]
        assert hypothesis == " ".join(text for _, text in whole)
        weights = [len(one) + len(other) for one, other in whole]
        expected = np.average([said[pair] for pair in whole], weights=weights)
        assert said[reference, hypothesis] == pytest.approx(expected)


def test_damage_is_for_english() -> None:
    texts = Segments(("It is so.", "Es ist so."), (("It is.",), ("Es ist.",)))
    judged = Ratings(np.array([1.0, 1.0]), {"lp": ("de-en", "en-de")}, texts, name="both")
    (source,) = collected(StagePlan("damage"), judgements=[judged]).stages[0]
    assert source.facts["texts"] == 2  # the output into English, and its reference


def test_scales_are_told_of_ratings_alone() -> None:
    wide = [rated(*((f"h{at}", f"r{at}", float(at)) for at in range(20)))]
    wide.append(rated(*((f"g{at}", f"s{at}", 100.0 * at) for at in range(20))))
    assert any("scales" in note for note in collected(RATINGS, judgements=wide).notes)
    stage = StagePlan("distillation", teacher=("t",))
    assert not collected(stage, judgements=wide).notes


def test_a_judged_file_is_distilled_as_judgements(tmp_path: Path) -> None:
    """Then its judgements may be held out, which plain texts have none of."""
    rows = "".join(f"h{at}\tr{at}\t{at}\n" for at in range(30))
    (tmp_path / "judged.tsv").write_text("mt\tref\tscore\n" + rows)
    judged = StagePlan("distillation", data=(str(tmp_path / "judged.tsv"),), teacher=("t",))
    development = DevelopmentPlan(share=0.3)
    loaded = rated(*((f"h{at}", f"r{at}", float(at)) for at in range(30)))
    data = collected(judged, files={judged.data[0]: loaded}, development=development)
    assert data.development_rows["ratings"] > 0


def test_rows_of_equal_names_add_up() -> None:
    judgements = [rated(("h", "r", 1), ("g", "r", 2)), rated(("h", "s", 3))]
    (source,) = collected(RATINGS, judgements=judgements).stages[0]
    assert source.facts["rows"] == 3
    assert source.facts["rows_by_dataset"] == {"few": 3}


def test_preferences_of_equal_names_stay_apart() -> None:
    judgements = [preferred(("a", "b", "r"), ("a", "c", "r")), preferred(("a", "b", "s"))]
    (source,) = collected(replace(PREFERENCES, split=0), judgements=judgements).stages[0]
    assert len(source.objective) == 3


def test_rows_that_cannot_be_used_are_told() -> None:
    """Once, in however many stages and for development too."""
    ours = rated(("h", "r", 1), ("g", "r", 2), name="ours")
    gaps = replace(ours, file_rows=FileRows(np.array([0, 3]), 1502, {"no score": 1500}))
    other = replace(
        rated(("x", "y", 1), name="dev"), file_rows=FileRows(np.array([1]), 2, {"NaN": 1})
    )
    data = collected(
        RATINGS,
        RATINGS,
        judgements=[gaps],
        files={"dev": other},
        development=DevelopmentPlan(data=("dev",)),
    )
    assert data.notes == (
        "ours: rows of the file that cannot be used: 1,500 (no score).",
        "dev: rows of the file that cannot be used: 1 (NaN).",
    )
    assert collected(RATINGS, judgements=[ours]).notes == ()


@pytest.mark.parametrize(
    ("factor", "shift", "told"), [(1, 0, False), (4.9, 0, False), (5.1, 0, True), (1, 6, True)]
)
def test_ratings_on_different_scales_are_told(factor: float, shift: float, told: bool) -> None:
    ours = tiny_ratings()
    scores = factor * (ours.scores - 50) + 50 + shift * ours.scores.std()
    theirs = replace(tiny_ratings(name="theirs"), scores=scores)
    notes = collected(RATINGS, judgements=[ours, theirs]).notes
    assert len(notes) == told
    if told:
        assert "different scales: rated" in notes[0]
    assert collected(RATINGS, judgements=[theirs]).notes == ()


def test_mistakes_have_a_sentence() -> None:
    without = Ratings(np.array([1.0, 2.0]), {"system": ("a", "b")}, name="ids")
    assert "no texts in ids" in sentence(RATINGS, judgements=[without])
    bare = Preferences({"better_system": ("a",), "worse_system": ("b",)}, name="ids")
    assert "no texts in ids" in sentence(PREFERENCES, judgements=[bare])
    assert "There are no ratings to learn from" in sentence(RATINGS)
    assert "no preferences to learn from" in sentence(PREFERENCES, judgements=[tiny_ratings()])
    wrong = sentence(replace(PREFERENCES, data=("x",)), files={"x": tiny_ratings()})
    assert wrong == "x holds no preferences, which this stage learns from."
    equal = rated(("h", "r", 1), ("g", "s", 1))
    assert "ratings that differ" in sentence(RATINGS, judgements=[equal])
    assert "has no language pairs" in sentence(replace(RATINGS, lp=("cs-en",)), judgements=[equal])
    assert "fr-en" in sentence(replace(RATINGS, lp=("fr-en",)), judgements=[tiny_ratings()])
    systems = RatedSystems(without)
    assert "no judgements of segments" in sentence(
        replace(RATINGS, data=("x",)), files={"x": systems}
    )
    nearly_all = DevelopmentPlan(share=0.999)
    assert "left to learn from" in sentence(
        RATINGS, judgements=[tiny_ratings()], development=nearly_all
    )
