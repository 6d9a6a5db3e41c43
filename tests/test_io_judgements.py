"""Ratings and preferences from tables: every format, every column, every row that is no use."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.judgements import read_judgements
from adequa.judgements import Preferences, Ratings, joined, without_repeats
from adequa.languages import language_pair
from adequa.segments import Segments
from judgements import FOLDER, needs_judgements
from judgements import read_judgements as plain_rows

Rows = list[dict[str, object]]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_jsonl(name: str, rows: Rows) -> str:
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    Path(name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return name


def write_tsv(name: str, rows: Rows) -> str:
    cells = [list(rows[0]), *(["" if v is None else str(v) for v in r.values()] for r in rows)]
    Path(name).write_text("".join("\t".join(row) + "\n" for row in cells), encoding="utf-8")
    return name


def write_parquet(name: str, rows: Rows) -> str:
    pq.write_table(pa.Table.from_pylist(rows), name)
    return name


FORMATS: dict[str, Callable[[str, Rows], str]] = {
    "t.jsonl": write_jsonl,
    "t.jsonl.gz": write_jsonl,
    "t.tsv": write_tsv,
    "t.parquet": write_parquet,
}


def ratings(path: str) -> Ratings:
    found = read_judgements(path)
    assert isinstance(found, Ratings)
    return found


def preferences(path: str) -> Preferences:
    found = read_judgements(path)
    assert isinstance(found, Preferences)
    return found


def error(path: str) -> str:
    with pytest.raises(AdequaError) as caught:
        read_judgements(path)
    return str(caught.value)


RATED: Rows = [
    {"lp": "cz-en", "system": "A", "segment": 1, "src": "s", "mt": "h", "ref": "r", "score": 0.5},
    {"lp": "cz-en", "system": "B", "segment": 1, "src": "s", "mt": "", "ref": "r", "score": -2},
]
COMPARED: Rows = [
    {
        "lp": "ces-eng",
        "segment": 7,
        "judge": None,
        "src": "s",
        "ref": "r",
        "better": "b",
        "worse": "w",
        "better_system": "A,B",
        "worse_system": "C",
    }
]


@pytest.mark.parametrize("name", FORMATS)
def test_ratings_in_every_format(name: str) -> None:
    told: list[int] = []
    path = FORMATS[name](name, RATED)
    found = read_judgements(path, advance=told.append)
    assert isinstance(found, Ratings)
    assert found.scores.tolist() == [0.5, -2.0]
    assert found.ids == {"lp": ("cs-en",) * 2, "system": ("A", "B"), "segment": ("1", "1")}
    assert found.segments is not None
    assert found.segments.hypotheses == ("h", "")  # an empty translation is one
    assert found.segments.references == (("r",), ("r",))
    assert found.segments.sources == ("s", "s")
    rows = found.file_rows
    assert (rows.rows.tolist(), rows.row_count, rows.unused) == ([0, 1], 2, {})
    assert sum(told) == Path(path).stat().st_size


@pytest.mark.parametrize("name", FORMATS)
def test_preferences_in_every_format(name: str) -> None:
    found = preferences(FORMATS[name](name, COMPARED))
    assert found.ids == {
        "lp": ("cs-en",),
        "segment": ("7",),
        "better_system": ("A+B",),  # both wrote this output
        "worse_system": ("C",),
    }
    assert found.better is not None
    assert found.worse is not None
    assert (found.better.hypotheses, found.worse.hypotheses) == (("b",), ("w",))
    assert found.better.references == found.worse.references == (("r",),)
    assert found.better.sources == found.worse.sources == ("s",)
    assert not found.ties


def test_similar_sentences_are_ratings() -> None:
    rows: Rows = [
        {"set": "S", "split": "dev", "a": "x", "b": "y", "score": 4.5, "label": "NEUTRAL"}
    ]
    found = ratings(write_jsonl("t.jsonl", rows))
    assert found.ids == {"set": ("S",), "split": ("dev",), "label": ("NEUTRAL",)}
    assert found.segments is not None
    assert (found.segments.hypotheses, found.segments.references) == (("x",), (("y",),))


def test_aliases_of_texts() -> None:
    rows: Rows = [
        {"score": 1.5, "translation": "h", "reference": "r", "source": "s", "lp": "de-en"}
    ]
    rated = ratings(write_jsonl("t.jsonl", rows))
    assert rated.segments == Segments(("h",), (("r",),), ("s",))
    assert rated.ids == {"lp": ("de-en",)}
    # Where there are no texts, columns of such names identify rows too.
    rows = [{"score": 1.5, "system": "a", "reference": "refA"}]
    assert read_judgements(write_jsonl("t.jsonl", rows)).ids["reference"] == ("refA",)
    for first, second in (("mt", "translation"), ("hypothesis", "translation")):
        rows = [{"score": 1.5, first: "h", second: "i", "ref": "r"}]
        with pytest.raises(AdequaError, match=f'"{first}" and "{second}", which name the same'):
            read_judgements(write_jsonl("t.jsonl", rows))


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_of_judgements(name: str) -> None:
    """0 where there is none; only rows that are used count."""
    rows: Rows = [
        {"system": "A", "score": 1.0, "n": 3},
        {"system": "B", "score": None, "n": 9},
        {"system": "C", "score": 2.0, "n": None},
        {"system": "D", "score": 3.0, "n": 12},
    ]
    rated = ratings(FORMATS[name](name, rows))
    assert rated.judgement_counts is not None
    assert rated.judgement_counts.tolist() == [3, 0, 12]
    assert rated.ids == {"system": ("A", "C", "D")}
    chosen = rated.select([2, 0]).judgement_counts
    assert chosen is not None
    assert chosen.tolist() == [12, 3]
    for row in rows:
        row["n"] = None
    assert ratings(FORMATS[name](name, rows)).judgement_counts is None


@pytest.mark.parametrize("value", [0, -1, 2.5, "many", True, [3], "inf", 10**30])
def test_what_is_no_number_of_judgements(value: object) -> None:
    rows: Rows = [{"score": 1, "n": 3}, {"score": 2, "n": value}]
    assert error(write_jsonl("t.jsonl", rows)) == (
        f"t.jsonl, line 2: \"n\" is '{value}'. It is the number of judgements that the score is "
        "the mean of, 1 or more, or empty where that is not known; rename the column if it is "
        "something else."
    )


def test_a_bad_number_of_judgements_is_found_by_its_line() -> None:
    Path("t.tsv").write_text('mt\tref\tscore\tn\n"two\nlines"\tr\t1\t1\nh\tr\t2\tx\n')
    assert error("t.tsv").startswith("t.tsv, line 4: \"n\" is 'x'. ")
    many: Rows = [{"score": 1, "n": 2}] * 5000  # more than are parsed at a time
    path = write_jsonl("t.jsonl", [*many, {"score": 1, "n": "x"}])
    assert error(path).startswith("t.jsonl, line 5001: ")


def test_in_preferences_n_identifies_rows() -> None:
    row: dict[str, object] = {"better": "b", "worse": "w", "ref": "r", "n": "x"}
    assert preferences(write_jsonl("t.jsonl", [row])).ids == {"n": ("x",)}


def test_numbers_of_judgements_are_joined_and_added() -> None:
    ids = {"system": ("a", "a", "b", "c", "c"), "segment": ("1", "1", "1", "1", "1")}
    rated = Ratings(np.arange(5.0), ids, judgement_counts=np.array([2, 3, 4, 5, 0]))
    once = without_repeats(rated)
    assert once.judgement_counts is not None
    assert once.judgement_counts.tolist() == [5, 4, 0]  # unknown with what is not known
    without = Ratings(np.zeros(2), {"system": ("a", "b")})
    both = joined([rated, without]).judgement_counts
    assert both is not None
    assert both.tolist() == [2, 3, 4, 5, 0, 0, 0]
    assert joined([without, without]).judgement_counts is None
    with pytest.raises(AdequaError, match="judgement counts: 1"):
        Ratings(np.zeros(2), {}, judgement_counts=np.array([1]))


def test_texts_are_optional_as_a_whole() -> None:
    found = ratings(write_tsv("t.tsv", [{"lp": "de-en", "system": "A", "score": "1"}]))
    assert found.segments is None
    assert found.ids == {"lp": ("de-en",), "system": ("A",)}
    rows: Rows = [
        {"segment": 1, "better_system": "A", "worse_system": "B"},
        {"segment": 2, "better_system": "A", "worse_system": None},
    ]
    compared = preferences(write_jsonl("t.jsonl", rows))
    assert compared.better is compared.worse is None
    assert compared.ids["worse_system"] == ("B",)
    assert compared.file_rows.unused == {"no worse_system": 1}


def test_every_row_that_cannot_be_used_is_counted_once() -> None:
    good = {"mt": "h", "ref": "r", "score": 1}
    bad: Rows = [
        {"mt": "h", "ref": "r", "score": None},
        {"mt": "h", "ref": "r", "score": " "},
        {"mt": None, "ref": None},
        {"mt": "h", "ref": "r", "score": "much"},
        {"mt": "h", "ref": "r", "score": True},
        {"mt": "h", "ref": "r", "score": [1]},
        {"mt": "h", "ref": "r", "score": math.nan},
        {"mt": "h", "ref": "r", "score": math.inf},
        {"mt": "h", "ref": "r", "score": "-inf"},
        {"mt": None, "ref": "r", "score": 1},
        {"mt": 3, "ref": "r", "score": 1},
        {"mt": "h", "ref": None, "score": 1},
        {"mt": "h", "ref": " ", "score": 1},
        {"mt": "h", "ref": [], "score": 1},
        {"mt": "h", "ref": ["r", ""], "score": 1},
    ]
    found = ratings(write_jsonl("t.jsonl", [*bad, good]))
    assert found.file_rows.unused == {
        "no score": 3,
        "score is not a number": 3,
        "score is NaN or infinite": 3,
        "no hypothesis text": 2,
        "no reference text": 4,
    }
    assert found.file_rows.rows.tolist() == [len(bad)]
    assert found.file_rows.row_count == len(bad) + 1


def test_preferences_that_cannot_be_used() -> None:
    rows: Rows = [
        {"better": "b", "worse": "w", "ref": "r"},
        {"better": None, "worse": "w", "ref": "r"},
        {"better": "b", "ref": "r"},
        {"better": "b", "worse": "w", "ref": ""},
        {"better": "same", "worse": "same", "ref": "r"},
    ]
    found = preferences(write_jsonl("t.jsonl", rows))
    assert found.file_rows.rows.tolist() == [0, 4]  # identical texts stay
    assert found.file_rows.unused == {
        "no better hypothesis text": 1,
        "no worse hypothesis text": 1,
        "no reference text": 1,
    }


def test_no_usable_row_is_an_error_with_the_counts() -> None:
    rows: Rows = [{"score": None}, {"score": "x"}, {"score": None}]
    assert error(write_jsonl("t.jsonl", rows)) == (
        "t.jsonl has no usable row among 3: no score (2), score is not a number (1)."
    )


def test_several_references() -> None:
    rows: Rows = [{"mt": "h", "ref": ["a", "b"], "score": 1}, {"mt": "h", "ref": "c", "score": 2}]
    found = ratings(write_jsonl("t.jsonl", rows))
    assert found.segments is not None
    assert found.segments.references == (("a", "b"), ("c",))


def test_rows_with_other_keys_have_nulls() -> None:
    many: Rows = [{"score": row} for row in range(5000)]  # more than are parsed at a time
    rows: Rows = [{"score": 1, "system": "A"}, *many, {"score": 2, "doc": "d", "system": 2.0}]
    found = ratings(write_jsonl("t.jsonl", rows))
    assert len(found) == 5002
    assert found.ids["doc"] == ("",) * 5001 + ("d",)
    assert found.ids["system"] == ("A", *[""] * 5000, "2")


def test_ids_are_simple_columns_that_are_known_somewhere() -> None:
    rows: Rows = [
        {"score": 1, "system": None, "segment": None, "year": 2020, "spans": [1], "x": math.nan},
        {"score": 2, "system": None, "segment": 4.0, "year": 2021, "spans": [], "x": None},
    ]
    for path in (write_jsonl("t.jsonl", rows), write_parquet("t.parquet", rows)):
        assert ratings(path).ids == {"segment": ("", "4"), "year": ("2020", "2021")}


def test_a_source_may_be_missing() -> None:
    rows: Rows = [
        {"mt": "h", "ref": "r", "score": 1, "src": None},
        {"mt": "h", "ref": "r", "score": 1, "src": "s"},
    ]
    segments = ratings(write_jsonl("t.jsonl", rows)).segments
    assert segments is not None
    assert segments.sources == ("", "s")
    segments = ratings(write_jsonl("t.jsonl", rows[:1])).segments
    assert segments is not None
    assert segments.sources is None


def test_files_that_hold_no_judgements() -> None:
    assert error(write_jsonl("t.jsonl", [{"mt": "h", "ref": "r", "scores": 1}])) == (
        't.jsonl holds neither ratings, which need "score", nor preferences, which need "better", '
        '"worse" and "ref", or "better_system" and "worse_system". Did you mean "scores"? '
        "It has: mt, ref, scores."
    )
    assert error(write_jsonl("t.jsonl", [{"mt": "h", "score": 1}])) == (
        't.jsonl has "mt", but no "ref"; judgements need "mt" and "ref" together, or "src" in '
        'place of "ref". It has: mt, score.'
    )
    assert error(write_jsonl("t.jsonl", [{"better": "b", "ref": "r"}])) == (
        't.jsonl has "better" and "ref", but no "worse"; judgements need "better" and "worse" and '
        '"ref" together, or "src" in place of "ref". It has: better, ref.'
    )
    assert error(write_jsonl("t.jsonl", [{"better_system": "b"}])).startswith(
        't.jsonl has "better_system", but no "worse_system"'
    )
    assert error(write_tsv("t.tsv", [{"score": 1}]).replace("t.tsv", "none.tsv")) == (
        "There is no file none.tsv."
    )
    Path("t.tsv").write_text("score\tmt\tscore\n1\th\t2\n", encoding="utf-8")
    assert error("t.tsv") == 't.tsv has 2 columns of the name "score".'
    Path("t.tsv").write_text("score\n", encoding="utf-8")
    assert error("t.tsv") == "t.tsv has no rows: there is no judgement in it."
    assert error("t.txt") == (
        "t.txt is of no known format. The name of a file of judgements should end in .tsv, "
        ".csv, .xlsx, .jsonl, .json, .parquet."
    )


def test_equal_texts_are_stored_once() -> None:
    text = "a reference that many hypotheses share"
    rows: Rows = [{"mt": f"h{row}", "ref": text, "score": 1} for row in range(9000)]
    segments = ratings(write_jsonl("t.jsonl", rows)).segments
    assert segments is not None
    assert len(set(map(id, segments.references))) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["h", "", None]),
            st.sampled_from(["r", " ", None]),
            st.sampled_from([1.5, math.nan, None, "x"]),
        ),
        min_size=1,
    )
)
def test_every_row_is_kept_or_counted(cells: list[tuple[object, object, object]]) -> None:
    rows: Rows = [{"mt": mt, "ref": ref, "score": score} for mt, ref, score in cells]
    usable = [
        row for row, cell in enumerate(cells) if cell[0] is not None and cell[1:] == ("r", 1.5)
    ]
    path = write_jsonl("t.jsonl", rows)
    if not usable:
        assert f"no usable row among {len(rows)}" in error(path)
        return
    found = ratings(path)
    assert found.file_rows.rows.tolist() == usable
    assert (
        len(usable) + sum(found.file_rows.unused.values()) == found.file_rows.row_count == len(rows)
    )
    kept_rows = found.file_rows.rows.tolist()
    assert found.segments is not None
    assert found.segments.hypotheses == tuple(cells[row][0] for row in kept_rows)


@pytest.mark.parametrize(
    ("written", "pair"),
    [
        ("cs-en", "cs-en"),
        ("CZ-EN", "cs-en"),
        ("cze-eng", "cs-en"),
        ("German - English", "de-en"),
        ("fre-eng", "fr-en"),
        ("fra-eng", "fr-en"),
        ("xx-en", "xx-en"),
        ("en", "en"),
        ("", ""),
        ("a-b-c", "a-b-c"),
    ],
)
def test_language_pairs(written: str, pair: str) -> None:
    assert language_pair(written) == pair


@needs_judgements
@pytest.mark.parametrize("name", ["wmt16-da", "wmt12-rr"])
def test_real_files_come_back_row_by_row(name: str) -> None:
    found = read_judgements(f"{FOLDER}/{name}.jsonl.gz")
    by_pair = plain_rows(name)
    assert len(found) == sum(map(len, by_pair.values()))
    for pair, rows in by_pair.items():
        chosen = found.select([row for row, lp in enumerate(found.ids["lp"]) if lp == pair])
        segments = [row["segment"] for row in rows]
        assert chosen.ids.get("segment") == tuple("" if s is None else str(s) for s in segments)
        if isinstance(chosen, Ratings):
            assert chosen.segments is not None
            assert chosen.segments.hypotheses == tuple(row["mt"] for row in rows)
            np.testing.assert_array_equal(chosen.scores, [row["score"] for row in rows])
        else:
            assert chosen.worse is not None
            assert chosen.worse.hypotheses == tuple(row["worse"] for row in rows)


@needs_judgements
def test_preferences_between_identical_texts_are_as_many_as_known() -> None:
    found = preferences(f"{FOLDER}/wmt12-rr.jsonl.gz")
    assert len(found) - len(found.without_identical()) == 106
