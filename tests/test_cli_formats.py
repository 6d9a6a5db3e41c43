"""Formats of results: by --format or the ending of the file, and refused before the work."""

from __future__ import annotations

import pytest

from adequa.cli.output import chosen_format
from adequa.errors import AdequaError
from adequa.tables import ENDINGS, TABLE_FORMATS, Format


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ending_chooses_the_format(ending: str) -> None:
    for path in (f"out{ending}", f"some.folder/out{ending.upper()}", f"out.md{ending}"):
        assert chosen_format(None, path, tuple(Format)) is ENDINGS[ending]


@pytest.mark.parametrize("path", [None, "out", ".json", "a.tsv/out"])
def test_text_where_there_is_no_ending(path: str | None) -> None:
    assert chosen_format(None, path) is Format.text


@pytest.mark.parametrize("path", ["out.docx", "out.json.gz", "out.parquet"])
def test_other_endings_are_refused_with_those_that_are_offered(path: str) -> None:
    with pytest.raises(
        AdequaError, match=r"one of \.txt, \.tsv, \.csv, \.md, \.tex, \.html, \.json;"
    ):
        chosen_format(None, path)


def test_the_option_is_stronger_than_the_ending() -> None:
    assert chosen_format(Format.json, "out.tsv") is Format.json
    assert chosen_format(Format.csv, None) is Format.csv


def test_formats_that_a_verb_does_not_offer_are_refused() -> None:
    with pytest.raises(AdequaError, match="--format parquet is not offered here; choose one of"):
        chosen_format(Format.parquet, "out.parquet", TABLE_FORMATS)
    with pytest.raises(AdequaError, match="not written to standard output; name a file with -o"):
        chosen_format(Format.parquet, None, tuple(Format))
