"""Formats of output files: by their endings, for every verb as it writes them."""

from __future__ import annotations

import pytest

from adequa.cli.output import AgreementFormat, ScoreFormat, TableFormat, format_by_ending

ENDINGS = {".json": "json", ".tsv": "tsv", ".md": "markdown", ".tex": "latex"}
FORMATS = (ScoreFormat, TableFormat, AgreementFormat)


@pytest.mark.parametrize("formats", FORMATS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ending_chooses_a_format_that_the_verb_has(
    formats: type[AgreementFormat], ending: str
) -> None:
    has = {each.value for each in formats}
    expected = ENDINGS[ending] if ENDINGS[ending] in has else "text"
    for path in (f"out{ending}", f"some.folder/out{ending.upper()}", f"out.txt{ending}"):
        assert format_by_ending(path, formats) is formats(expected)


@pytest.mark.parametrize("formats", FORMATS)
@pytest.mark.parametrize("path", [None, "out", "out.txt", "out.json.gz", ".json", "a.tsv/out"])
def test_anything_else_is_text(formats: type[AgreementFormat], path: str | None) -> None:
    assert format_by_ending(path, formats) is formats.text


def test_what_each_verb_writes() -> None:
    assert [each.value for each in ScoreFormat] == ["text", "json", "tsv"]
    assert [each.value for each in TableFormat] == ["text", "json", "tsv", "markdown"]
    assert [each.value for each in AgreementFormat] == ["text", "json", "tsv", "latex", "markdown"]
