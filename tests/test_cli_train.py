"""`adequa train` as its users find it: a folder and a report, or one sentence and no folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from adequa.cli.main import main
from adequa.encoders.registry import ENCODERS, EncoderEntry, load_encoder
from adequa.encoders.word_vectors import load_word_vectors
from adequa.errors import AdequaError
from adequa.metrics.base import Remark, plain_remarks
from adequa.metrics.registry import load_metric
from test_cli import EXAMPLES, adequa
from tiny_encoders import Counting, write_vectors, write_words

pytest.importorskip("sklearn", reason="support vectors are trained with scikit-learn")

RATINGS = EXAMPLES / "ratings.tsv"
QUICK = ("--folds", "2", "--workers", "1")
HEAVY = {"torch", "sklearn", "transformers", "safetensors", "pyarrow", "scipy"}

Refused = Callable[..., str]


def rows(path: Path = RATINGS) -> list[dict[str, str]]:
    header, *lines = (line.split("\t") for line in path.read_text().splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def sentences() -> list[str]:
    return [row[side] for row in rows() for side in ("mt", "ref")]


def write_rows(path: str, found: list[dict[str, str]]) -> str:
    """A table of ratings, in the current folder."""
    lines = [list(found[0]), *(list(row.values()) for row in found)]
    Path(path).write_text("".join("\t".join(line) + "\n" for line in lines))
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADEQUA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(tmp_path)
    write_vectors(Path("vectors.npz"), sentences())
    write_words(Path("words.txt"), sentences()[: len(sentences()) // 2])


@dataclass(frozen=True)
class Shown:
    """What a command leaves behind, as `subprocess.run` tells it."""

    returncode: object
    stdout: str
    stderr: str


Run = Callable[..., Shown]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process, to save the start of Python and of scikit-learn."""

    def ran(*arguments: str | Path) -> Shown:
        monkeypatch.setattr(sys, "argv", ["adequa", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        shown = capsys.readouterr()
        return Shown(caught.value.code or 0, shown.out, shown.err)

    return ran


@pytest.fixture
def refused(run: Run) -> Refused:
    """Runs a command that has to fail; gives the one sentence that it says."""

    def sentence(*arguments: str | Path) -> str:
        shown = run(*arguments)
        assert (shown.returncode, shown.stdout) == (2, "")
        *notes, last = shown.stderr.splitlines()
        assert all(note.startswith("note: ") for note in notes)
        assert last.startswith("adequa: error: ")
        return last

    return sentence


def regressor(*more: str | Path, ratings: str | Path = RATINGS) -> tuple[str | Path, ...]:
    return ("train", "embedding-regressor", "--ratings", ratings, "-o", "new", *QUICK, *more)


def description(folder: str = "new") -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(Path(folder, "metric.json").read_text())
    return found


def test_a_metric_is_trained_reported_and_used(run: Run) -> None:
    more = ("--encoder", "words:words.txt", "--sample", "40", "--seed", "3")
    shown = adequa(*regressor(*more), cwd=Path())
    assert shown.returncode == 0
    (note,) = shown.stderr.splitlines()
    assert note.startswith("note: words.txt.mean knows ")
    title, _, header, everything, pair, _, basis, chosen, last = shown.stdout.splitlines()
    assert title == "new: trained on 40 ratings (ratings.tsv)"
    assert header.split() == ["validation", "ratings", "Pearson", "Kendall"]
    assert everything.split()[1:] == pair.split()[1:]
    figures = description()["agreement"]["all"]
    assert isinstance(figures, dict)
    assert everything.split() == [
        "all", "40", f"{figures['pearson']:.3f}", f"{figures['kendall']:.3f}",
    ]  # fmt: skip
    assert figures["pearson"] == pytest.approx(
        description()["agreement"]["criterion_pearson"], abs=1e-5
    )
    assert basis == "Means over the 2 folds of the cross-validation."
    assert chosen.startswith("The best of 32 settings on these ratings: C ")
    assert last == "Saved in new; use it with: adequa score -m new -t FILE -r FILE"
    assert sorted(path.name for path in Path("new").iterdir()) == [
        "README.md", "metric.json", "weights.npz",
    ]  # fmt: skip
    assert description()["training"]["rows_by_language_pair"] == {"de-en": 40}
    # It is used as any other metric: by its folder, by a path, and with settings.
    for written in ("new", "./new:cache=false", Path("new").resolve()):
        used = run(
            "evaluate", RATINGS, "-m", written, "-m", "chrf", "--resamples", "100",
            "--format", "json",
        )  # fmt: skip
        assert used.stderr == ""
        figures = json.loads(used.stdout)["columns"][0]["figures"]
        assert len(figures) == 2


def test_the_same_seed_draws_the_same_and_quiet_says_nothing(run: Run) -> None:
    settings = ("--encoder", "vectors.npz", "--sample", "30", "--quiet", "--seed")
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        shown = run(*regressor(*settings, seed))
        assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "")
        Path("new").rename(name)
    assert description("a")["digest"] == description("b")["digest"] != description("c")["digest"]


def test_several_encoders_and_several_ratings(run: Run) -> None:
    half = rows()[:54]
    other = [row | {"lp": "cs-en"} for row in rows()[54:]]
    write_rows("one.tsv", half)
    write_rows("two.tsv", other)
    shown = run(*regressor(
        "--encoder", "precomputed:vectors.npz", "--encoder", "words:words.txt", "--no-cache",
        "--ratings", "two.tsv", "--lp", "de-en", "--lp", "cs-en", "--references", "mean",
        "--name", "mine", ratings="one.tsv",
    ))  # fmt: skip
    assert shown.stdout.startswith("mine: trained on 108 ratings (one.tsv + two.tsv)\n")
    validation = [line.split()[:2] for line in shown.stdout.splitlines()[3:6]]
    assert validation == [["all", "108"], ["cs-en", "54"], ["de-en", "54"]]
    (note,) = shown.stderr.splitlines()  # of the one part that has a list of words
    assert note.startswith("note: words.txt.mean knows ")
    found = description()
    assert found["training"]["rows_by_dataset"] == {"one.tsv": 54, "two.tsv": 54}
    with np.load(Path("new", "weights.npz")) as weights:
        assert weights["vectors"].shape[1] == 4 * (3 + 3)
    metric = load_metric("new")
    name = load_encoder("vectors.npz").name
    assert f"|encoder:{name}+words.txt.mean|" in str(metric.signature(1))
    assert "references:mean" in str(metric.signature(1))


def test_only_some_language_pairs(run: Run) -> None:
    write_rows(
        "both.tsv", [r | {"lp": "cs-en" if n < 40 else "de-en"} for n, r in enumerate(rows())]
    )
    shown = run(*regressor("--encoder", "vectors.npz", "--lp", "cz-en", ratings="both.tsv"))
    assert shown.stdout.startswith("new: trained on 40 ratings (both.tsv)\n")
    assert "cs-en" in shown.stdout
    assert "de-en" not in shown.stdout


def test_ratings_that_are_no_numbers_are_left_out_with_a_note(run: Run) -> None:
    bad = {0: "nan", 1: "good", 2: ""}
    write_rows(
        "some.tsv", [r | {"score": bad.get(n, r["score"])} for n, r in enumerate(rows()[:30])]
    )
    shown = run(*regressor("--encoder", "vectors.npz", ratings="some.tsv"))
    assert shown.returncode == 0
    assert len(shown.stderr.splitlines()) == 3
    assert all(line.startswith("note: some.tsv: rows of") for line in shown.stderr.splitlines())
    assert "trained on 27 ratings" in shown.stdout
    unused = description()["training"]["rows_not_used"]
    assert isinstance(unused, dict)
    assert sorted(unused.values()) == [1, 1, 1]
    Path("new").rename("old")
    run(*regressor("--encoder", "vectors.npz", "--ratings", RATINGS, ratings="some.tsv"))
    assert description()["training"]["rows_not_used"] == unused  # of all files together


def test_a_blend_is_trained(run: Run) -> None:
    numbered = [row | {"qe": row["score"]} for row in rows()[:30]]
    write_rows("some.tsv", numbered)
    shown = run(
        "train", "blend", "--ratings", "some.tsv", "-m", "wer", "--column", "qe", "-o", "deep/new",
        *QUICK,
    )  # fmt: skip
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("new: trained on 30 ratings (some.tsv)\n")
    assert description("deep/new")["settings"]["columns"] == ["qe"]


class Cut(Counting):
    """An encoder that has cut texts, and has no list of words."""

    def counted_remarks(self) -> tuple[Remark, ...]:
        return plain_remarks(["the encoder cut 3 sentences."])

    @classmethod
    def load(cls, path: str) -> Cut:
        found = cls()
        found.specification = f"cut:{path}"
        return found


def test_remarks_are_told_as_notes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENCODERS, "cut", EncoderEntry(f"{__name__}:Cut", "cuts texts"))
    Path("cache").mkdir(exist_ok=True)
    Path("cache", "vectors").write_text("")  # where the folder of a cache should be
    some = write_rows("some.tsv", first(30))
    blend = ("train", "blend", "--ratings", some, *QUICK, "-m", "new", "-o")
    for command in (
        regressor("--encoder", "cut:here", ratings=some),
        ("score", "-i", some, "-m", "new"),
        ("evaluate", some, "-m", "new", "--resamples", "100"),
        (*blend, "blent"),
    ):
        shown = run(*command)
        assert shown.returncode == 0
        told = [line for line in shown.stderr.splitlines() if "cut 3" in line or "cache" in line]
        assert told[0] == "note: the encoder cut 3 sentences."
        assert told[1].startswith("note: ")
        assert "is of no use as a cache" in told[1]
        assert len(told) == 2
    assert run(*blend, "quiet", "--quiet").stderr == ""


def test_word_vectors_with_a_byte_order_mark_and_few_capitals() -> None:
    words = [*(f"word{number}" for number in range(98)), "UNK"]
    rest = "".join(f" {number} 1\n{word}" for number, word in enumerate(words))
    for one_more, cased in (("word98", False), ("Word98", True)):  # 1 and 2 of 100
        Path("marked.txt").write_text(f"\ufeff{one_more}{rest} 0 1\n", encoding="utf-8")
        table = load_word_vectors(Path("marked.txt"))
        assert (len(table), table.dimension, table.cased) == (100, 2, cased)
        assert table.rows([one_more]).tolist() == [0]
        found = load_encoder("words:marked.txt").coverage(["WORD1"])  # type: ignore[union-attr]
        assert found is not None
        assert found.fraction == (0 if cased else 1)


def first(count: int) -> list[dict[str, str]]:
    return rows()[:count]


BAD_RATINGS: dict[str, tuple[Callable[[], list[dict[str, str]]], str]] = {
    "no texts": (
        lambda: [
            {"system": r["system"], "segment": r["segment"], "score": r["score"]} for r in rows()
        ],
        "no texts in bad.tsv",
    ),
    "preferences": (
        lambda: [{"better": r["mt"], "worse": "x", "ref": r["ref"]} for r in rows()],
        "bad.tsv holds no ratings of segments",
    ),
    "one": (lambda: first(1), "learns from ratings that differ"),
    "equal": (lambda: [r | {"score": "7"} for r in rows()], "of 108 here each is 7;"),
    "fewer than folds": (lambda: [*first(1), first(1)[0] | {"score": "1"}], "2 folds need"),
    "no number": (lambda: [r | {"score": "nan"} for r in rows()], "bad.tsv"),
    "another pair": (lambda: [{**r, "lp": "xx-en"} for r in rows()], 'no lp "de-en"'),
}


@pytest.mark.parametrize("name", BAD_RATINGS)
def test_bad_ratings(name: str, refused: Refused) -> None:
    made, said = BAD_RATINGS[name]
    write_rows("bad.tsv", made())
    more = ("--lp", "de-en") if name == "another pair" else ()
    assert said in refused(*regressor("--encoder", "vectors.npz", *more, ratings="bad.tsv"))
    assert not Path("new").exists()


def test_ratings_without_references(refused: Refused) -> None:
    found = [{"src" if key == "ref" else key: cell for key, cell in r.items()} for r in rows()]
    write_rows("bare.tsv", found)
    said = "There are no references in bare.tsv, and "
    blend = ("train", "blend", "--ratings", "bare.tsv", "-m", "chrf", "-o", "new", *QUICK)
    assert said + "a blend needs them" in refused(*blend)
    embedding = refused(*regressor("--encoder", "vectors.npz", ratings="bare.tsv"))
    assert said + "an embedding regressor needs them" in embedding
    assert not Path("new").exists()


def test_bad_encoders(refused: Refused) -> None:
    def said(*encoders: str) -> str:
        sentence = refused(*regressor(*(word for each in encoders for word in ("--encoder", each))))
        assert not Path("new").exists()
        return sentence

    write_vectors(Path("few.npz"), sentences()[2:])
    np.savez("uneven.npz", sentences=np.array(["a", "b"]), vectors=np.zeros((1, 2)))
    assert "few.npz has no vector for 1 of" in said("few.npz")
    assert "there must be one row per sentence" in said("uneven.npz")
    assert 'Did you mean "words"?' in said("word:words.txt")
    assert "absent.npz" in said("precomputed:absent.npz")
    assert "absent" in said("words:absent.txt")
    assert "There is no file or folder absent.txt, and no encoder" in said("absent.txt")
    assert "There is no file or folder a/b/c, and" in said("a/b/c,prefix=query:")
    assert "words is a kind of encoder; write words:PATH." in said("words")
    assert "There is no folder" in said("transformer:./absent")
    assert "names no file or folder" in said("words:")
    assert 'precomputed has no setting named "pooling"' in said("vectors.npz,pooling=mean")


def test_bad_settings(refused: Refused) -> None:
    encoder = ("--encoder", "vectors.npz")
    assert "absent.tsv" in refused(*regressor(*encoder, ratings="absent.tsv"))
    blend = ("train", "blend", "--ratings", RATINGS, "-o", "new", *QUICK)
    assert 'Did you mean "chrf"?' in refused(*blend, "-m", "chfr")
    assert 'in a column "qe" beside the texts' in refused(*blend, "--column", "qe")
    assert "absent/metric is no metric" in refused(*blend, "-m", "absent/metric")
    assert not Path("new").exists()


def test_a_perceptron_needs_a_device_that_is_there(refused: Refused) -> None:
    pytest.importorskip("torch", reason="perceptrons are trained with PyTorch")
    more = ("--encoder", "vectors.npz", "--model", "mlp", "--device", "nowhere")
    assert 'There is no device "nowhere"' in refused(*regressor(*more))
    assert not Path("new").exists()


def test_folders_that_are_there_are_refused_before_any_work(refused: Refused) -> None:
    Path("new").mkdir()
    Path("new/mine").write_text("")
    absent = regressor("--encoder", "absent:nowhere", ratings="absent.tsv")
    assert "new is there already; give a new name" in refused(*absent)
    blend = ("train", "blend", "--ratings", "absent.tsv", "-o", "vectors.npz")
    assert "vectors.npz is there already and is no folder" in refused(*blend)
    assert [path.name for path in Path("new").iterdir()] == ["mine"]


@pytest.mark.parametrize("verb", ["", "embedding-regressor", "blend", "pair-regressor"])
def test_help_imports_nothing_heavy(verb: str) -> None:
    code = (
        "import sys; from adequa.cli.main import main\n"
        "try: main()\n"
        "finally: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    arguments = ["train", *filter(None, [verb]), "--help"]
    shown = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0
    assert "Usage: adequa train" in shown.stdout
    assert ("--ratings" in shown.stdout) == bool(verb)
    assert not HEAVY & set(shown.stderr.split())


@pytest.mark.parametrize("name", ["chrf", "a|b", "a\tb", " "])
def test_names_that_could_not_be_used_are_refused_before_the_work(
    refused: Refused, name: str
) -> None:
    said = refused(
        "train", "blend", "--ratings", RATINGS, "-m", "chrf", "-o", "new", "--name", name, *QUICK
    )
    assert said.startswith('adequa: error: A metric cannot be called "')


def test_vectors_of_several_encoders_are_not_taken_for_each_other(run: Run) -> None:
    write_vectors(Path("wide.npz"), sentences(), dimension=5)
    asked = ("--encoder", "vectors.npz", "--encoder", "wide.npz", "-o", "both", "-q", *QUICK)
    assert not run("train", "embedding-regressor", "--ratings", RATINGS, *asked).returncode
    with pytest.raises(AdequaError, match="gives vectors of 5 numbers, and the metric was trained"):
        load_metric("both:encoder=wide.npz,encoder2=vectors.npz")
