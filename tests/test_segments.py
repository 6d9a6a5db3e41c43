"""Segments check themselves; selections and joins keep rows together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adequa
from adequa import AdequaError, Segments
from adequa.segments import as_segments, concatenate

ROWS = st.lists(
    st.tuples(st.text(), st.lists(st.text(min_size=1).filter(str.strip), min_size=1), st.text()),
    min_size=1,
    max_size=5,
)


def build(rows: list[tuple[str, list[str], str]]) -> Segments:
    return Segments(
        tuple(row[0] for row in rows),
        tuple(tuple(row[1]) for row in rows),
        tuple(row[2] for row in rows),
        {"doc": tuple(row[2] for row in rows)},
    )


@given(rows=ROWS, data=st.data())
def test_select_picks_whole_rows(
    rows: list[tuple[str, list[str], str]], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    assert build(rows).select(chosen) == build([rows[row] for row in chosen])


@given(rows=ROWS, data=st.data())
def test_pairs_are_every_hypothesis_with_each_reference(
    rows: list[tuple[str, list[str], str]], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    expected = [(at, rows[row][0], text) for at, row in enumerate(chosen) for text in rows[row][1]]
    pairs = build(rows).pairs(chosen)
    columns = (pairs.segment.tolist(), pairs.hypotheses, pairs.references)
    assert list(zip(*columns, strict=True)) == expected
    assert build(rows).pairs().references == [text for row in rows for text in row[1]]


@given(parts=st.lists(ROWS, min_size=1, max_size=3))
def test_concatenate_joins_in_order(parts: list[list[tuple[str, list[str], str]]]) -> None:
    assert concatenate([build(part) for part in parts]) == build(
        [r for part in parts for r in part]
    )


def test_rows_cannot_change_later() -> None:
    rows = [("x",)]
    segments = Segments(["a"], rows)  # type: ignore[arg-type]
    rows[0] = ("y",)
    assert segments.references == (("x",),)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((("a", "b"), (("x",),)), "hypotheses: 2, references: 1"),
        ((("a",), (("x",),), ()), "hypotheses: 1, references: 1, sources: 0"),
        ((("a",), (("x",),), None, {"doc": ()}), "references: 1, doc: 0"),
        ((("a",), ("xyz",)), "references holds one tuple of strings a segment"),
        ((("a", "b"), (("x",), ())), "Segment 2 has no reference"),
        ((("a",), (("x", " \u3000"),)), "Segment 1 has an empty reference"),
    ],
)
def test_rows_must_match(arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(AdequaError, match=sentence):
        Segments(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("blank", [None, float("nan"), " ", []])
def test_data_frames_whose_references_are_empty(blank: object) -> None:
    pd = pytest.importorskip("pandas")
    columns = {"mt": ["a", "b"], "src": ["x", "y"]}
    for null in (blank, pd.NA):
        segments = as_segments(pd.DataFrame({**columns, "ref": [null, null]}))
        assert not segments.has_references
        assert not adequa.read(pd.DataFrame({**columns, "ref": [blank] * 2})).has_references
        mixed = pd.DataFrame({**columns, "ref": ["z", null]})
        with pytest.raises(AdequaError, match="some rows have a reference and others none; give"):
            as_segments(mixed)
    with pytest.raises(AdequaError, match="row 2: some rows have a reference and others none"):
        adequa.read(pd.DataFrame({**columns, "ref": ["z", blank]}))
    with pytest.raises(AdequaError):
        as_segments(pd.DataFrame({"mt": ["a"], "ref": [blank]}))
