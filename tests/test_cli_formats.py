"""Formats of results: by --format or the ending of the file, and refused before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from adequa.cli.choosing import CHOICE_FORMATS
from adequa.cli.main import load_verb, main
from adequa.cli.output import chosen_format
from adequa.errors import AdequaError
from adequa.tables import TABLE_FORMATS, Column, Format, Table, ending


@pytest.mark.parametrize("format_", Format)
def test_every_format_has_an_ending_and_a_writer(format_: Format) -> None:
    suffix = ending(format_)
    for path in (f"out{suffix}", f"some.folder/out{suffix.upper()}", f"out.md{suffix}"):
        assert chosen_format(None, path, tuple(Format)) is format_
    table = Table((Column("x"),), [("1",)])
    written = table.to_parquet() if format_ is Format.parquet else "".join(table.lines(format_))
    assert written


def _formats(verb: str) -> list[str]:
    """The formats that the help of a verb lists."""
    option = next(each for each in load_verb(verb).params if "--format" in each.opts)
    listed = option.help.partition("Output format: ")[2].partition(";")[0].partition(".")[0]
    return str(listed).split(", ")


@pytest.mark.parametrize("verb", ["score", "compare", "gate", "rank", "evaluate", "mbr", "rerank"])
def test_every_verb_takes_the_formats_that_its_help_lists(verb: str) -> None:
    more = ["table", "jsonl"] if verb in {"mbr", "rerank"} else []
    assert _formats(verb) == [*more, *(each.value for each in TABLE_FORMATS)]


@pytest.mark.parametrize("format_", [*CHOICE_FORMATS, "parquet", "asciidoc"])
def test_verbs_that_choose_take_exactly_their_formats(
    format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "lists.jsonl"
    rows.write_text('{"candidates": ["a b", "a c"]}\n', encoding="utf-8")
    output = tmp_path / "out"
    arguments = ["mbr", "-q", "-i", str(rows), "-m", "chrf", "-o", str(output)]
    monkeypatch.setattr("sys.argv", ["adequa", *arguments, "--format", format_])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert (exit_.value.code or 0, output.exists()) == (
        (0, True) if format_ in CHOICE_FORMATS else (2, False)
    )


@pytest.mark.parametrize("verb", ["score", "compare", "rank"])
def test_a_dash_is_standard_output(
    verb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("a.txt", "b.txt", "r.txt"):
        (tmp_path / name).write_text("the cat\nsat here\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    texts = ["-t", "a.txt", "b.txt", "-r", "r.txt", "-m", "chrf"]
    monkeypatch.setattr("sys.argv", ["adequa", verb, "-q", *texts, "-o", "-"])
    with pytest.raises(SystemExit):
        main()
    assert "chrf" in capsys.readouterr().out
    assert not Path("-").exists()


@pytest.mark.parametrize("path", [None, "out", ".json", "a.tsv/out"])
def test_text_where_there_is_no_ending(path: str | None) -> None:
    assert chosen_format(None, path) is Format.text


@pytest.mark.parametrize("path", ["out.docx", "out.json.gz", "out.parquet"])
def test_other_endings_are_refused_with_those_that_are_offered(path: str) -> None:
    with pytest.raises(
        AdequaError, match=r"one of \.txt, \.tsv, \.csv, \.md, \.tex, \.html, \.json"
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
