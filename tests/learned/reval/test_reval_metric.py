"""ReVal: it learns what a tree tells, scores the same after saving, and refuses in a sentence."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adequa.encoders.parses import ParsedFiles
from adequa.encoders.token_vectors import load_token_vectors
from adequa.errors import AdequaError
from adequa.judgements import Ratings
from adequa.metrics.registry import load_metric
from adequa.segments import Segments
from adequa.statistics.correlation import pearson
from tiny_transformer import write_tiny_encoder
from tiny_trees import LastWord, preferred, rated, table

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.reval import train as tree_training  # noqa: E402
from adequa.learned.reval.metric import TreeLstm  # noqa: E402
from adequa.learned.reval.network import TreeShape  # noqa: E402

TEXTS = Segments(
    ("cat saw dog", "", "dog", "cat ate mat"),
    (("cat saw dog",), ("cat saw dog",), ("cat",), ("dog ate mat", "cat ate mat")),
)


@pytest.fixture(autouse=True)
def _small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small network, a quick training, and a cache of its own."""
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    setting = tree_training.TreeSettings("adagrad", 0.1, batch=10, epochs=6, penalty=1e-4)

    def shape(preset: str, dimension: int, structure: Any) -> TreeShape:
        return TreeShape(dimension, memory=8, hidden=6, structure=structure)

    monkeypatch.setattr(tree_training, "PRESETS", {"paper": (setting, {}), "modern": (setting, {})})
    monkeypatch.setattr(tree_training, "preset_shape", shape)


def metric(folder: Path, **settings: Any) -> TreeLstm:
    return TreeLstm(LastWord(), table(folder), device="cpu", **settings)


def scores(fitted: Any, segments: Segments = TEXTS) -> list[float]:
    values: list[float] = fitted.score(segments).segments.tolist()
    return values


def test_it_learns_from_ratings_and_scores_from_0_to_1(tmp_path: Path) -> None:
    fitted = metric(tmp_path).fit(rated())
    unseen = rated(60, seed=1)
    assert unseen.segments is not None
    scored = fitted.score(unseen.segments)
    assert pearson(unseen.scores, scored.segments) > 0.7
    assert ((scored.segments >= 0) & (scored.segments <= 1)).all()
    assert scored.system == pytest.approx(scored.segments.mean())
    assert fitted.agreement_["criterion_pearson"] > 0.7
    assert len(fitted.training_["history"]) == 6
    assert fitted.training_["rows"] + fitted.agreement_["held_out_rows"] == 120


def test_it_learns_from_preferences_too(tmp_path: Path) -> None:
    many = rated(400)
    fitted = metric(tmp_path).fit([preferred(many), rated(40, seed=2)], development=[rated(60, 1)])
    assert fitted.training_["data"] == "made-up-preferences + made-up"
    assert set(fitted.training_["rows_by_dataset"]) == {"made-up-preferences", "made-up"}
    assert fitted.training_["development"] == "made-up"
    assert fitted.agreement_["criterion_pearson"] > 0.5


def test_each_different_text_is_parsed_once(tmp_path: Path) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    parser = fitted.parser
    assert isinstance(parser, LastWord)
    assert len(parser.asked) == len(set(parser.asked))


def test_references_that_come_again_are_not_composed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    parser = fitted.parser
    assert isinstance(parser, LastWord)
    before = scores(fitted)
    parser.asked.clear()
    assert scores(fitted) == before
    assert parser.asked == []
    monkeypatch.setattr("adequa.learned.reval.metric._CACHED_SENTENCES", 2)
    assert scores(fitted, TEXTS.select([3])) == before[3:]
    assert scores(fitted) == pytest.approx(before, abs=1e-6)
    assert parser.asked  # only the latest are kept


def test_a_metric_can_be_copied_and_scores_in_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    before = scores(fitted)
    for copied in (copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert scores(copied) == pytest.approx(before, abs=1e-6)
    monkeypatch.setattr("adequa.learned.reval.metric._CACHED_SENTENCES", 2)
    rows = [list(np.random.default_rng(at).permutation(len(TEXTS))) for at in range(40)]
    with ThreadPoolExecutor(4) as pool:
        scored = pool.map(lambda some: scores(fitted, TEXTS.select(some)), rows)
    for some, values in zip(rows, scored, strict=True):
        assert values == pytest.approx([before[row] for row in some], abs=1e-6)


def test_long_texts_are_composed_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    before = scores(fitted)
    fitted._cache = {}
    asked: list[int] = []
    new = TreeLstm._compose_batch

    def recorded(self: TreeLstm, texts: Any) -> Any:
        asked.append(len(texts))
        return new(self, texts)

    monkeypatch.setattr(TreeLstm, "_compose_batch", recorded)
    monkeypatch.setattr("adequa.learned.reval.metric._BATCH_CHARACTERS", 12)
    assert scores(fitted) == pytest.approx(before, abs=1e-6)
    assert asked == [1, 1, 1, 3]  # three sentences of eleven letters; two of three, and nothing


def test_the_same_seed_gives_the_same_metric(tmp_path: Path) -> None:
    before = torch.random.get_rng_state()
    one, same, other = (scores(metric(tmp_path, seed=s).fit(rated(40))) for s in (1, 1, 2))
    assert one == same != other
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("kind", ["fixed", "tuned", "learnt", "chain"])
def test_a_saved_metric_scores_as_before_and_without_the_parser(kind: str, tmp_path: Path) -> None:
    fitted = TreeLstm(
        LastWord(),
        None if kind == "learnt" else table(tmp_path),
        tuned=kind == "tuned",
        structure="chain" if kind == "chain" else "dependency",
        device="cpu",
        name="tiny",
    ).fit(rated(60))
    before = scores(fitted)
    folder = tmp_path / "saved"
    fitted.save(folder)
    texts = sorted({*TEXTS.hypotheses, *(r for several in TEXTS.references for r in several)})
    LastWord().parse(texts).write(tmp_path / "a.conllu", texts)
    with pytest.raises(AdequaError, match="parser last-word.*cannot be loaded.*parser=conllu:FILE"):
        load_metric(str(folder))
    again = load_metric(f"{folder}:parser=conllu:{tmp_path / 'a.conllu'}")
    assert scores(again) == pytest.approx(before, abs=1e-6)
    assert "trained on parses of last-word" in again.remarks()[0]
    assert again.name == "tiny"
    assert str(again.signature(1)).count("weights:") == 1
    card = (folder / "README.md").read_text()
    assert "scores are from 0 to 1" in card
    assert str(tmp_path) not in card
    described = json.loads((folder / "metric.json").read_text())
    assert described["kind"] == "tree-lstm"
    assert (folder / "words.json").exists() == (kind in {"tuned", "learnt"})


def test_several_files_of_parses(tmp_path: Path) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    before = scores(fitted)
    fitted.save(tmp_path / "saved")
    both = (TEXTS.hypotheses, tuple(r for several in TEXTS.references for r in several))
    for name, texts in zip("ab", both, strict=True):
        LastWord().parse(texts).write(tmp_path / f"{name}.conllu", texts)
    named = f"parser={tmp_path}/a.conllu,parser2={tmp_path}/b.conllu"
    again = load_metric(f"{tmp_path / 'saved'}:{named}")
    assert isinstance(again, TreeLstm)
    assert isinstance(again.parser, ParsedFiles)
    assert scores(again) == pytest.approx(before, abs=1e-6)


def test_tuning_moves_the_vectors_of_words_that_occur(tmp_path: Path) -> None:
    fitted = metric(tmp_path, tuned=True).fit(rated(60))
    pretrained = table(tmp_path).look_up(LastWord().parse(["cat"])).table[0]
    assert fitted.words_.trained is not None
    learnt = fitted.words_.trained[fitted.words_.words.index("cat")]
    assert np.abs(learnt - pretrained).max() > 1e-4
    assert np.abs(learnt - pretrained).max() < 1


@pytest.mark.parametrize("kind", ["tuned", "learnt"])
def test_words_of_development_texts_are_not_learnt(kind: str, tmp_path: Path) -> None:
    other = Segments(("owl saw owl", "cat saw dog"), (("owl ate owl",), ("cat saw dog",)))
    chosen_on = Ratings(np.array([1.0, 5.0]), {}, other, name="others")
    vectors = table(tmp_path) if kind == "tuned" else None
    fitted = TreeLstm(LastWord(), vectors, tuned=kind == "tuned", device="cpu")
    fitted.fit(rated(40), development=[chosen_on])
    assert "owl" not in fitted.words_.words
    assert "cat" in fitted.words_.words
    assert fitted.words_.trained is not None
    assert len(fitted.words_.trained) == len(fitted.words_.words)
    # The figure that chose the epoch is that of the metric as it is.
    assert pearson(chosen_on.scores, fitted.score(other).segments) == pytest.approx(
        fitted.agreement_["criterion_pearson"]
    )


def test_only_vectors_in_use_are_looked_up(tmp_path: Path) -> None:
    fitted = metric(tmp_path, tuned=True).fit(rated(60))
    parses = LastWord().parse(["cat saw cat", "owl dog"])
    assert fitted.words_.trained is not None
    used, whole = fitted.words_.look_up(parses), fitted.words_.look_up_for_training(parses)
    assert (used.table[used.rows] == whole.table[whole.rows]).all()
    assert (used.in_vocabulary == whole.in_vocabulary).all()
    assert (len(used.table), len(whole.table)) == (4, len(fitted.words_.trained) + 1)


def test_vectors_of_a_transformer_stay_as_they_are(tmp_path: Path) -> None:
    folder = write_tiny_encoder(tmp_path / "tiny")
    vectors = load_token_vectors([f"transformer:{folder}"])
    fitted = TreeLstm(LastWord(), vectors, device="cpu").fit(rated(40))
    before = scores(fitted)
    fitted.save(tmp_path / "saved")
    texts = [*TEXTS.hypotheses, "cat", "dog ate mat"]
    LastWord().parse(texts).write(tmp_path / "a.conllu", texts)
    again = load_metric(f"{tmp_path / 'saved'}:parser={tmp_path / 'a.conllu'}")
    assert scores(again) == pytest.approx(before, abs=1e-5)
    with pytest.raises(AdequaError, match=r"tiny\.2 depend on the sentence"):
        TreeLstm(LastWord(), vectors, tuned=True, device="cpu").fit(rated(40))


def test_of_several_references_the_best_or_the_mean_counts(tmp_path: Path) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    alone = Segments(("cat ate mat",) * 2, (("dog ate mat",), ("cat ate mat",)))
    both = Segments(("cat ate mat",), (("dog ate mat", "cat ate mat"),))
    each = scores(fitted, alone)
    assert scores(fitted, both) == pytest.approx([max(each)])
    fitted.references = "mean"
    assert scores(fitted, both) == pytest.approx([np.mean(each)])


def test_segments_of_any_length_have_a_score(tmp_path: Path) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    long = " ".join(["cat saw dog"] * 170)
    hypotheses = ("", "cat", long, "zzz qqq", "", "cat cat")
    references = ("cat", "cat", long, "cat", "zzz", long)
    texts = Segments(hypotheses, tuple((reference,) for reference in references))
    values = scores(fitted, texts)
    assert np.isfinite(values).all()
    # Whatever stands beside it, a segment has the same score.
    alone = [scores(fitted, texts.select([row]))[0] for row in range(len(texts))]
    assert values == pytest.approx(alone, abs=1e-6)


def test_a_split_is_taken_at_its_word(tmp_path: Path) -> None:
    data = rated(60)
    splits = ("train",) * 30 + ("dev",) * 10 + ("test",) * 20
    fitted = metric(tmp_path).fit(replace(data, ids={"split": splits}))
    assert (fitted.training_["rows"], fitted.agreement_["held_out_rows"]) == (30, 10)
    assert data.segments is not None
    parser = fitted.parser
    assert isinstance(parser, LastWord)
    shown = {t for row in range(40) for t in (data.segments.hypotheses[row],
                                              *data.segments.references[row])}  # fmt: skip
    assert set(parser.asked) == shown  # nothing of the test part was as much as parsed
    with pytest.raises(AdequaError, match='column "split", and no row of it is "train"'):
        metric(tmp_path).fit(replace(data, ids={"split": ("test",) * 60}))


def test_ratings_on_another_scale_are_brought_to_it(tmp_path: Path) -> None:
    from adequa.progress import Progress

    data = rated(60)
    notes: list[str] = []
    wide = replace(data, scores=(data.scores - 3) * 10)
    one = metric(tmp_path).fit(wide, Progress(note=notes.append))
    assert any("made-up: from -20 to 20, which is brought to 1 to 5." in note for note in notes)
    assert scores(one) == pytest.approx(scores(metric(tmp_path).fit(data)), abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": "bush"}, '"bush" is not a value of structure'),
        ({"preset": "old"}, '"old" is not a value of preset'),
        ({"formula": "elo"}, '"elo" is not a value of formula'),
        ({"references": "worst"}, '"worst" is not a value of references'),
        ({"device": "abacus"}, 'no device "abacus"'),
    ],
    ids=["structure", "preset", "formula", "references", "device"],
)
def test_settings_that_make_no_sense(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    fitted = metric(tmp_path)
    for name, value in settings.items():
        setattr(fitted, name, value)
    with pytest.raises(AdequaError, match=message):
        fitted.fit(preferred(rated(80)))


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(AdequaError, match="no texts in"):
        metric(tmp_path).fit(Ratings(np.array([1.0, 2.0]), {}))
    bare = Segments(("a", "b"), ((), ()), sources=("x", "y"))
    without = Ratings(np.array([1.0, 2.0]), {}, bare)
    for data, more in ((without, {}), (rated(), {"development": [without]})):
        with pytest.raises(AdequaError, match="no references in .* and a Tree-LSTM needs them"):
            metric(tmp_path).fit(data, **more)  # type: ignore[arg-type]
    with pytest.raises(AdequaError, match="has not been trained yet"):
        metric(tmp_path).score(TEXTS)


def test_damaged_folders(tmp_path: Path) -> None:
    fitted = metric(tmp_path, tuned=True, name="tiny").fit(rated(40))
    fitted.save(tmp_path / "saved")
    LastWord().parse(["cat"]).write(tmp_path / "a.conllu", ["cat"])
    named = f"{tmp_path / 'saved'}:parser={tmp_path / 'a.conllu'}"
    load_metric(named)
    with pytest.raises(AdequaError, match="parser2 names a further file .* there is no parser;"):
        load_metric(f"{tmp_path / 'saved'}:parser2={tmp_path / 'a.conllu'},device=cpu")
    with pytest.raises(AdequaError, match='no setting named "parsre".*"parser"'):
        load_metric(f"{tmp_path / 'saved'}:parsre=a")
    other = tmp_path / "other.txt"
    other.write_text("cat 1 2 3 4 5 6\n")
    with pytest.raises(AdequaError, match="not the vectors that this metric was trained with"):
        load_metric(f"{named},vectors={other}")
    described = json.loads((tmp_path / "saved" / "metric.json").read_text())
    for wrong in (9, -1, "8", None):
        described["settings"]["shape"]["memory"] = wrong
        (tmp_path / "saved" / "metric.json").write_text(json.dumps(described))
        with pytest.raises(AdequaError, match="is a damaged metric: "):
            load_metric(named)
    (tmp_path / "saved" / "words.json").write_text("[]")
    with pytest.raises(AdequaError, match="words.json is not the file"):
        load_metric(named)


def test_a_text_that_was_not_parsed(tmp_path: Path) -> None:
    fitted = metric(tmp_path).fit(rated(40))
    fitted.save(tmp_path / "saved")
    LastWord().parse(["cat"]).write(tmp_path / "a.conllu", ["cat"])
    again = load_metric(f"{tmp_path / 'saved'}:parser={tmp_path / 'a.conllu'}")
    with pytest.raises(AdequaError, match='no parse of .* the first being "cat saw dog"'):
        again.score(TEXTS)
