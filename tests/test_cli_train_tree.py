"""`adequa train tree-lstm` as its users find it: a folder and a report, or one sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adequa.cli.main import main
from adequa.judgements import Ratings
from tiny_trees import LastWord, preferred, rated, write_table

torch = pytest.importorskip("torch", reason="training needs PyTorch")

from adequa.learned.reval import train as tree_training  # noqa: E402  # it needs PyTorch
from adequa.learned.reval.network import TreeShape  # noqa: E402

RATED = rated(80)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, word vectors and parses in the current folder, and a small network."""
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    assert RATED.segments is not None
    texts = sorted({*RATED.segments.hypotheses, *(r for (r,) in RATED.segments.references)})
    LastWord().parse(texts).write("all.conllu", texts)
    write_table(Path("words.txt"))
    write_ratings(RATED, "rated.tsv")
    write_ratings(RATED, "pairs.tsv", ["cs-en", "de-en"] * 40)
    write_preferences("preferred.tsv")

    def shape(preset: str, dimension: int, structure: Any) -> TreeShape:
        return TreeShape(dimension, memory=8, hidden=6, structure=structure)

    monkeypatch.setattr(tree_training, "preset_shape", shape)


def write_ratings(ratings: Ratings, path: str, pairs: Sequence[str] = ()) -> None:
    assert ratings.segments is not None
    texts, scores = ratings.segments, ratings.scores
    rows = zip(texts.hypotheses, texts.references, scores, strict=True)
    lines = ["mt\tref\tscore", *(f"{mt}\t{ref}\t{score:g}" for mt, (ref,), score in rows)]
    if pairs:
        lines = [f"{line}\t{pair}" for line, pair in zip(lines, ["lp", *pairs], strict=True)]
    Path(path).write_text("\n".join(lines) + "\n")


def write_preferences(path: str) -> None:
    given = preferred(RATED)
    assert given.better is not None
    assert given.worse is not None
    rows = zip(given.better.hypotheses, given.worse.hypotheses, given.better.references,
               strict=True)  # fmt: skip
    lines = ["better\tworse\tref", *(f"{one}\t{other}\t{ref}" for one, other, (ref,) in rows)]
    Path(path).write_text("\n".join(lines) + "\n")


def run(*words: str) -> int:
    """The exit status of a command in this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.argv", ["adequa", *words])
        try:
            main()
        except SystemExit as stopped:
            return int(str(stopped.code or 0))
    return 0


TRAIN = ("train", "tree-lstm", "--parser", "conllu:all.conllu", "--device", "cpu")
VECTORS = ("--vectors", "words:words.txt")


def test_a_metric_is_trained_saved_and_scores(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--preferences", "preferred.tsv", "--similarity", "rated.tsv", "--epochs", "3")
    assert run(*TRAIN, *VECTORS, *given, "-o", "mine") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("mine: trained on ")
    assert "\nThe best of 3 epochs on these ratings: epoch " in shown.out
    assert "Saved in mine; use it with: adequa score -m mine -t FILE -r FILE" in shown.out
    assert "of the words have a vector of their own" in shown.err
    described = json.loads(Path("mine/metric.json").read_text())
    assert described["settings"]["formula"] == "share"
    assert RATED.segments is not None
    Path("t.txt").write_text("".join(f"{text}\n" for text in RATED.segments.hypotheses[:5]))
    Path("r.txt").write_text("".join(f"{text}\n" for (text,) in RATED.segments.references[:5]))
    assert run("score", "-m", "mine", "-t", "t.txt", "-r", "r.txt") == 0
    scored = capsys.readouterr().out
    assert "parser:all.conllu@" in scored
    assert "vectors:words.txt|structure:dependency" in scored


def test_one_epoch_is_not_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--similarity", "rated.tsv", "--epochs", "1")
    assert run(*TRAIN, *VECTORS, *given, "-o", "mine") == 0
    assert "\nThe only epoch: epoch 1; `adequa evaluate` " in capsys.readouterr().out
    card = " ".join(Path("mine/README.md").read_text().split())
    assert (
        "There was one epoch, so that nothing was chosen on these ratings; still: measure" in card
    )


@pytest.mark.parametrize(
    "more",
    [
        ("--structure", "chain", *VECTORS),
        ("--settings", "paper", *VECTORS),
        (),
        ("--tune-vectors", *VECTORS),
        ("--formula", "smoothed", "--comparisons", "2", "--references", "mean", *VECTORS),
        ("--development", "rated.tsv", *VECTORS),
    ],
    ids=["chain", "paper", "learnt", "tuned", "others", "development"],
)
def test_every_way_to_train_leaves_a_metric(
    more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--similarity", "rated.tsv", "--preferences", "preferred.tsv", "--epochs", "1")
    assert run(*TRAIN, *given, *more, "-o", "mine", "-q") == 0
    assert capsys.readouterr().out == ""
    assert Path("mine/README.md").exists()


def test_language_pairs_are_chosen_in_every_set_that_names_them() -> None:
    given = ("--similarity", "pairs.tsv", "--similarity", "rated.tsv", "--development", "pairs.tsv")
    assert run(*TRAIN, *VECTORS, *given, "--lp", "cs-en", "--epochs", "1", "-o", "mine", "-q") == 0
    described = json.loads(Path("mine/metric.json").read_text())
    assert described["training"]["rows_by_dataset"] == {"pairs.tsv": 40, "rated.tsv": 80}
    assert described["training"]["rows_by_language_pair"] == {"": 80, "cs-en": 40}
    assert list(described["agreement"]["by_language_pair"]) == ["cs-en"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Name what to learn from with --preferences, --similarity or both."),
        (("--preferences", "rated.tsv"), "rated.tsv holds no preferences"),
        (("--similarity", "preferred.tsv"), "learnt from with --preferences preferred.tsv."),
        (("--similarity", "rated.tsv", "--development", "preferred.tsv"), "--development needs"),
        (("--similarity", "rated.tsv", "--lp", "cs-en"), 'have a column "lp"; leave out --lp.'),
        (("--similarity", "pairs.tsv", "--lp", "fr-en"), 'pairs.tsv: The judgements have no'),
        (("--similarity", "rated.tsv", "--tune-vectors"), "leave out --tune-vectors"),
        (("--similarity", "rated.tsv", "--vectors", "wrods:a"), 'Did you mean "words"?'),
        (("--similarity", "rated.tsv", "--device", "abacus"), 'no device "abacus"'),
        (("--similarity", "rated.tsv", "--parser", "all.txt"), '"all.txt" names no parser'),
        (("--similarity", "rated.tsv", "--parser", "conllu:circle.conllu"), "leads in a circle"),
        (("--similarity", "rated.tsv", "--parser", "conllu:roots.conllu"), "are both roots"),
        (("--similarity", "rated.tsv", "--parser", "conllu:few.conllu"), "there is no parse of"),
    ],
    ids=["nothing", "ratings", "preferences", "development", "no-lp", "lp", "tuned", "vectors",
         "device", "parser", "circle", "roots", "few"],
)  # fmt: skip
def test_what_cannot_be_trained_is_told_in_a_sentence(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "{}\tw{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    for name, heads in (("circle", (2, 1, 0)), ("roots", (0, 0, 1)), ("few", (0, 1, 1))):
        rows = (line.format(at, at, head) for at, head in enumerate(heads, start=1))
        Path(f"{name}.conllu").write_text("".join(rows) + "\n")
    parser = () if "--parser" in words else TRAIN[2:4]
    assert run("train", "tree-lstm", *parser, *words, "-o", "mine") == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    errors = [text for text in shown.err.splitlines() if not text.startswith("note: ")]
    assert len(errors) == 1
    assert not Path("mine").exists()


def test_help_names_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "tree-lstm", "--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "spacy:en_core_web_md" in shown
