"""TMX, XLIFF and workbooks: texts without codes, aligned by their ids, read safely."""

from __future__ import annotations

import io
import sys
import tracemalloc
import zipfile
from typing import Any

import pytest

from adequa.errors import AdequaError
from adequa.io.read import InputSummary, read, read_parallel, read_table
from adequa.io.text import MemoryFile
from adequa.segments import Segments

openpyxl = pytest.importorskip("openpyxl")

TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header creationtool="x" creationtoolversion="1" segtype="sentence" o-tmf="x" adminlang="en"
    srclang="en" datatype="html"/>
  <body>
    <tu tuid="a"><prop type="x">p</prop>
      <tuv xml:lang="en">
        <seg>The <bpt i="1">&lt;b&gt;</bpt>cat<ept i="1">&lt;/b&gt;</ept>.</seg></tuv>
      <tuv xml:lang="de-DE"><seg>Die <hi>Katze</hi><ph>&lt;br <sub>alt</sub>/&gt;</ph>.</seg></tuv>
    </tu>
    <tu tuid="b"><tuv xml:lang="en"><seg>A dog
        barks.</seg></tuv>
      <tuv xml:lang="de-DE"><seg>Ein Hund &amp; mehr.</seg></tuv></tu>
  </body>
</tmx>
"""
XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="page.html" source-language="en" target-language="de" datatype="html">
  <header><note>no text</note></header>
  <body>
   <group id="g"><trans-unit id="1">
     <source>The <g id="1">cat</g><x id="2"/>.</source>
     <target state="translated">Die <g id="1">Katze</g><x id="2"/>.</target>
     <note>leave this</note>
     <alt-trans origin="MT A"><source>x</source>
       <target>Der <g id="1">Kater</g>.</target></alt-trans>
     <alt-trans origin="MT B"><target>Katze.</target></alt-trans>
     <alt-trans origin="MT B"><target>second</target></alt-trans>
     <alt-trans alttranstype="previous-version"><target>old</target></alt-trans>
   </trans-unit></group>
   <trans-unit id="no" translate="no"><source>CODE</source></trans-unit>
   <trans-unit id="2">
     <source>A dog. It <bpt id="1">&lt;i></bpt>barks<ept id="1">&lt;/i></ept>.</source>
     <seg-source><mrk mtype="seg" mid="0">A dog.</mrk> <mrk mtype="seg" mid="1">It
       <bpt id="1">&lt;i></bpt>barks<ept id="1">&lt;/i></ept>.</mrk></seg-source>
     <target><mrk mtype="seg" mid="0">Ein Hund.</mrk> <mrk mtype="seg" mid="1">Er
       <bpt id="1">&lt;i></bpt>bellt<ept id="1">&lt;/i></ept>.</mrk></target>
     <alt-trans origin="MT A"><target><mrk mtype="seg" mid="0">Hund.</mrk><mrk mtype="seg"
       mid="1">Bellt.</mrk></target></alt-trans>
     <alt-trans origin="MT B"><target><mrk mtype="seg" mid="0">Hunde.</mrk><mrk mtype="seg"
       mid="1">Bellen.</mrk></target></alt-trans>
   </trans-unit>
  </body>
 </file>
</xliff>
"""
XLIFF_2 = """<?xml version="1.0"?>
<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0"
  xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0">
 <file id="f1" original="page.html">
  <unit id="1">
   <mtc:matches><mtc:match ref="#m" origin="MT A"><source>x</source>
     <target>Der Kater.</target></mtc:match>
     <mtc:match ref="#m" origin="MT B"><source>x</source><target>Katze.</target></mtc:match>
   </mtc:matches>
   <segment><source>The <pc id="1">cat</pc><ph id="2"/>.</source>
     <target>Die <pc id="1">Katze</pc><ph id="2"/>.</target></segment>
  </unit>
  <unit id="no" translate="no"><segment><source>CODE</source></segment></unit>
  <unit id="2">
   <mtc:matches>
     <mtc:match ref="#s0" origin="MT A"><target>Hund.</target></mtc:match>
     <mtc:match ref="#m1" origin="MT A"><target>Bellt.</target></mtc:match>
     <mtc:match ref="#s0" origin="MT B"><target>Hunde.</target></mtc:match>
     <mtc:match ref="#m1" origin="MT B"><target>Bellen.</target></mtc:match>
   </mtc:matches>
   <segment id="s0"><source>A dog.</source><target>Ein Hund.</target></segment>
   <ignorable><source> </source></ignorable>
   <segment id="s1">
     <source><mrk id="m1" type="mtc:match">It <sc id="3"/>barks<ec startRef="3"/>.</mrk>
     </source><target>Er bellt.</target></segment>
  </unit>
 </file>
</xliff>
"""


def file(name: str, content: str | bytes) -> MemoryFile:
    return MemoryFile(name, content if isinstance(content, bytes) else content.encode())


def refusal(*paths: Any, **options: Any) -> str:
    with pytest.raises(AdequaError) as caught:
        read(*paths, **options)
    return str(caught.value)


def test_tmx_in_every_role() -> None:
    texts = file("out.txt", "Die Katze.\nDer Hund.\n")
    segments = read(hypotheses=texts, references=file("m.tmx", TMX))
    assert segments.references == (("Die Katze.",), ("Ein Hund & mehr.",))
    assert segments.sources == ("The cat.", "A dog barks.")
    assert "doc" not in segments.ids
    again = read(hypotheses=file("m.tmx", TMX), references=texts, source=file("m.tmx", TMX))
    assert (again.hypotheses, again.sources) == (
        ("Die Katze.", "Ein Hund & mehr."),
        segments.sources,
    )
    assert read(hypotheses=file("m.tmx", TMX)).sources == segments.sources
    alone = read(file("m.tmx", TMX))
    assert (alone.hypotheses, alone.sources) == (again.hypotheses, segments.sources)
    assert not alone.has_references
    assert set(alone.ids["system"]) == {"m"}


def test_tmx_of_several_languages() -> None:
    more = TMX.replace("</tuv>\n    </tu>", '</tuv><tuv xml:lang="fr"><seg>chat</seg></tuv></tu>')
    more = more.replace(
        "mehr.</seg></tuv></tu>", 'mehr.</seg></tuv><tuv xml:lang="fr"><seg>chien</seg></tuv></tu>'
    )
    texts = file("out.txt", "a\nb\n")
    assert refusal(hypotheses=texts, references=file("m.tmx", more)) == (
        "m.tmx has 3 languages: its languages are en, de-DE, fr. Say which one to read with -l, "
        "such as -l en-de."
    )
    for language in ("fr", "en-fr", "FR"):
        segments = read(hypotheses=texts, references=file("m.tmx", more), language=language)
        assert segments.references == (("chat",), ("chien",))
    for language in ("de", "en-de", "de-DE", "en-de-DE"):
        segments = read(hypotheses=texts, references=file("m.tmx", more), language=language)
        assert segments.references[0] == ("Die Katze.",)
    assert "has no translation into en-ja" in refusal(
        hypotheses=texts, references=file("m.tmx", more), language="en-ja"
    )
    gap = more.replace('<tuv xml:lang="fr"><seg>chien</seg></tuv>', "")
    assert refusal(hypotheses=texts, references=file("m.tmx", gap), language="fr") == (
        'm.tmx, unit b has no translation into "fr".'
    )


def test_the_source_language_of_tmx_is_not_guessed() -> None:
    any_language = TMX.replace('srclang="en"', 'srclang="*all*"')
    texts = file("out.txt", "a\nb\n")
    sentence = (
        "m.tmx has no source language (srclang): its languages are en, de-DE. Say which one to "
        "read with -l, such as -l en-de."
    )
    assert refusal(hypotheses=texts, references=file("m.tmx", any_language)) == sentence
    summaries: list[InputSummary] = []
    segments = read(
        hypotheses=texts,
        references=file("m.tmx", any_language),
        language="en",
        describe=summaries.append,
    )
    assert segments.references == (("The cat.",), ("A dog barks.",))
    assert segments.sources == ("Die Katze.", "Ein Hund & mehr.")
    assert str(summaries[1]) == "m.tmx: 2 segments, 1 reference, de-DE to en"
    by_unit = any_language.replace("<tu ", '<tu srclang="en" ')
    assert read(hypotheses=texts, references=file("m.tmx", by_unit)).sources == (
        "The cat.",
        "A dog barks.",
    )
    third = any_language.replace("</tu>", '<tuv xml:lang="fr"><seg>x</seg></tuv></tu>')
    options: dict[str, Any] = {"hypotheses": texts, "language": "de"}
    assert read(references=file("m.tmx", third), **options).sources is None
    assert "no source language (srclang)" in refusal(
        references=texts, source=file("m.tmx", third), **options
    )


def test_tmx_without_ids_is_matched_by_position() -> None:
    numbered = TMX.replace(' tuid="a"', "").replace(' tuid="b"', "")
    marked = (
        '<refset setid="t"><doc docid="d" sysid="r"><seg id="7">x</seg><seg id="8">y</seg></doc>'
        "</refset>"
    )
    segments = read(hypotheses=file("m.tmx", numbered), references=file("r.sgm", marked))
    assert segments.ids["doc"] == ("d", "d")
    assert refusal(hypotheses=file("o.txt", "a\n"), references=file("m.tmx", numbered)) == (
        "All files need the same number of segments, but o.txt has 1 line, m.tmx has 2 segments."
    )


KEYS = ("The cat.", "A dog.", "It barks."), ("Die Katze.", "Ein Hund.", "Er bellt.")


@pytest.mark.parametrize("content", [XLIFF_1, XLIFF_2], ids=["1.2", "2.0"])
def test_xliff_in_every_role(content: str) -> None:
    texts = file("out.txt", "a\nb\nc\n")
    segments = read(hypotheses=texts, references=file("r.xlf", content))
    assert segments.sources == KEYS[0]
    assert segments.references == tuple((text,) for text in KEYS[1])
    assert segments.ids["doc"] == ("page.html",) * 3
    assert read(hypotheses=file("t.xliff", content), references=texts).hypotheses == KEYS[1]
    assert (
        read(hypotheses=texts, references=texts, source=file("t.xlf", content)).sources == KEYS[0]
    )
    whole = read(file("t.xlf", content))
    assert whole.ids["system"] == ("MT A",) * 3 + ("MT B",) * 3
    assert whole.hypotheses == ("Der Kater.", "Hund.", "Bellt.", "Katze.", "Hunde.", "Bellen.")
    assert whole.references[:3] == segments.references


def test_xliff_files_are_aligned_by_their_ids() -> None:
    other = XLIFF_1.replace('id="1">\n', 'id="9">\n')
    assert refusal(hypotheses=file("a.xlf", XLIFF_1), references=file("b.xlf", other)) == (
        "The files do not hold the same segments in the same order: position 1 is a.xlf, "
        'document "page.html", segment 1, but b.xlf, document "page.html", segment 9.'
    )
    both = read(hypotheses=file("a.xlf", XLIFF_1), references=file("b.xlf", XLIFF_1))
    assert both.sources == KEYS[0]
    # Sources that differ between files are those of neither.
    other = XLIFF_1.replace("A dog.", "One dog.")
    assert read(hypotheses=file("a.xlf", XLIFF_1), references=file("b.xlf", other)).sources is None


def test_files_that_bring_their_sources() -> None:
    other = XLIFF_1.replace("It", "She")
    alone = read(hypotheses=[file("a.xlf", XLIFF_1), file("b.xlf", XLIFF_1)])
    assert not alone.has_references
    assert alone.sources == read(hypotheses=file("a.xlf", XLIFF_1)).sources * 2  # type: ignore[operator]
    assert refusal(hypotheses=[file("a.xlf", XLIFF_1), file("b.xlf", other)]) == (
        "a.xlf holds no source of every segment, or other sources than the next file; give "
        "references with -r, or the source with -s."
    )
    assert "one of references or sources" in refusal(
        hypotheses=[file("a.xlf", XLIFF_1), file("b.txt", "x")]
    )


def test_xliff_without_targets() -> None:
    untranslated = XLIFF_2.replace("<target>Ein Hund.</target>", "")
    texts = file("out.txt", "a\nb\nc\n")
    hypotheses = read(hypotheses=file("t.xlf", untranslated), references=texts).hypotheses
    assert hypotheses == ("Die Katze.", "", "Er bellt.")
    assert refusal(hypotheses=texts, references=file("r.xlf", untranslated)) == (
        'r.xlf, "page.html", unit 2.s0 has no target, which is the reference.'
    )
    alone = (
        '<xliff version="1.2"><file original="a"><body><trans-unit id="1"><source>x</source>'
        "{}</trans-unit></body></file></xliff>"
    )
    assert refusal(hypotheses=file("t.xlf", alone.format("")), references=texts) == (
        "t.xlf holds sources and no targets: nothing is translated in it."
    )
    translated = alone.format("<target>y</target>")
    segments = read(file("t.xlf", translated))
    assert (segments.hypotheses, segments.sources) == (("y",), ("x",))
    assert not segments.has_references
    gap = XLIFF_2.replace(
        '<mtc:match ref="#m1" origin="MT B"><target>Bellen.</target></mtc:match>', ""
    )
    assert refusal(file("t.xlf", gap)) == (
        'System "MT B" in t.xlf lacks document "page.html", segment 2.s1.'
    )
    assert "holds no segments" in refusal(file("t.xlf", "<xliff version='2.0'/>"))


def test_encodings_and_white_space() -> None:
    utf16 = TMX.replace("utf-8", "utf-16").encode("utf-16")
    texts = file("out.txt", "a\nb\n")
    segments = read(hypotheses=texts, references=MemoryFile("m.tmx", utf16))
    assert segments.references[1] == ("Ein Hund & mehr.",)
    kept = XLIFF_1.replace('<trans-unit id="2">', '<trans-unit id="2" xml:space="preserve">')
    sources = read(hypotheses=file("a.xlf", kept), references=file("b.xlf", kept)).sources
    assert sources is not None
    assert sources[2] == "It\n       barks."


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "' + "&a;" * 9 + '"><!ENTITY c "' + "&b;" * 9 + '">]>'
)
BAD = {
    "entities": (LAUGHS, "line 1 declares an entity, which is not read"),
    "a file": ('<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]>', "declares an entity"),
    "an address": (
        '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://localhost/">%a;]>',
        "declares an entity",
    ),
}


@pytest.mark.parametrize("prolog", BAD.values(), ids=BAD)
@pytest.mark.parametrize("name", ["m.tmx", "m.xlf", "m.xml"])
def test_entities_are_not_expanded(name: str, prolog: tuple[str, str]) -> None:
    content = f'<?xml version="1.0"?>{prolog[0]}<x>&a;</x>'
    message = refusal(hypotheses=file("a.txt", "a\n"), references=file(name, content))
    assert message.startswith(f"{name}, line 1")
    assert prolog[1] in message


@pytest.mark.parametrize("name", ["m.tmx", "m.xlf", "m.xml"])
def test_broken_xml_has_its_line(name: str) -> None:
    texts = file("a.txt", "a\n")
    assert refusal(hypotheses=texts, references=file(name, "<x>\n<y>\n</x>")) == (
        f"{name}, line 3: broken XML (mismatched tag)."
    )
    assert "broken XML (no element found)" in refusal(hypotheses=texts, references=file(name, ""))
    assert "broken XML (undefined entity)" in refusal(
        hypotheses=texts, references=file(name, "<x>&nbsp;</x>")
    )
    deep = "<g>" * 5000 + "</g>" * 5000
    assert "more than 200 elements" in refusal(hypotheses=texts, references=file(name, deep))
    assert "encoding" in refusal(
        hypotheses=texts, references=file(name, '<?xml version="1.0" encoding="klingon"?><x/>')
    )


@pytest.mark.parametrize(
    ("version", "unit"),
    [
        ("1.2", '<trans-unit id="1"><source>s</source><target>{}</target></trans-unit>'),
        ("2.0", '<unit id="1"><segment><source>s</source><target>{}</target></segment></unit>'),
    ],
)
def test_line_breaks_of_xliff_part_words(version: str, unit: str) -> None:
    breaks = '<x id="1" ctype="lb"/>' if version == "1.2" else '<ph id="1" subType="xlf:lb"/>'
    text = f'{breaks}One{breaks} two<ph id="2"/>s <ph id="3"/>three'
    content = (
        f'<xliff version="{version}"><file original="a" id="a"><body>{unit.format(text)}</body>'
        "</file></xliff>"
    )
    (batch,) = read_parallel(
        [MemoryFile("a.xlf", content.encode())], [MemoryFile("b.txt", b"One twos three\n")]
    )
    assert batch.hypotheses == ("One twos three",)


# Workbooks


def workbook(*sheets: tuple[str, list[list[object]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


ROWS: list[list[object]] = [
    ["mt", "ref", "id"],
    ['a "b", c', "x\ny", 7],
    [7, "z", 8.0],
    [None, "w", 9],
]


def test_workbooks(tmp_path: Any) -> None:
    blank: list[list[object]] = [[None, None, None]] * 3
    content = workbook(("First", [*blank, *ROWS, *blank]), ("Other", [["mt", "ref"], ["h", "r"]]))
    summaries: list[InputSummary] = []
    path = tmp_path / "b.xlsx"
    path.write_bytes(content)
    batches = list(read_table(path, keep_ids=("id",), describe=summaries.append))
    assert batches == [
        Segments(
            ('a "b", c', "7", ""),
            (("x\ny",), ("z",), ("w",)),
            ids={"system": ("b",) * 3, "id": ("7", "8", "9")},
        )
    ]
    assert str(summaries[0]) == (f'{path}: 3 segments, 1 system, 1 reference, sheet "First" of 2')
    assert read(f"{path}:Other").hypotheses == ("h",)
    assert refusal(f"{path}:Othr") == (
        f'{path} has no sheet "Othr". Did you mean "Other"? It has: First, Other.'
    )


def with_sheet(rows: str) -> bytes:
    """A workbook whose first sheet has these `<row>` elements."""
    plain, written = io.BytesIO(workbook(("S", []))), io.BytesIO()
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            content = old.read(part).decode()
            is_sheet = part.endswith("sheet1.xml")
            new.writestr(part, SHEET.format(rows=rows) if is_sheet else content)
    return written.getvalue()


SHEET = """<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
{rows}</sheetData></worksheet>"""


def sheet_row(number: int, *cells: str) -> str:
    inner = "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in cells)
    return f'<row r="{number}">{inner}</row>'


def test_blank_rows_as_wide_as_a_sheet_take_no_memory() -> None:
    blank = "".join(f'<row r="{n}"><c r="XFD{n}"/></row>' for n in range(2, 400))
    content = with_sheet(f"{sheet_row(1, 'mt', 'ref')}{blank}{sheet_row(400, 'a', 'b')}")
    tracemalloc.start()
    try:
        message = refusal(MemoryFile("b.xlsx", content))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert message.startswith('b.xlsx, row 2: "ref" is empty')
    assert peak < 10_000_000  # 398 rows of 16,384 cells have 52 million bytes
    trailing = with_sheet(f"{sheet_row(1, 'mt', 'ref')}{sheet_row(2, 'a', 'b')}{blank}")
    assert read(MemoryFile("b.xlsx", trailing)).hypotheses == ("a",)
    late = with_sheet(sheet_row(2_000, "mt", "ref"))
    assert refusal(MemoryFile("b.xlsx", late)) == (
        "b.xlsx has no header in its first 1,000 rows: there is nothing to score."
    )


def test_hidden_sheets_are_not_the_first() -> None:
    book = openpyxl.load_workbook(
        io.BytesIO(workbook(("Old", [["mt", "ref"], ["x", "y"]]), ("New", ROWS)))
    )
    book["Old"].sheet_state = "hidden"
    book.active = 1
    written = io.BytesIO()
    book.save(written)
    summaries: list[InputSummary] = []
    segments = read(MemoryFile("b.xlsx", written.getvalue()), describe=summaries.append)
    assert len(segments) == 3
    assert str(summaries[0]).endswith('sheet "New" of 2')


def test_escaped_characters_of_workbooks() -> None:
    """As ECMA-376 has them (ST_Xstring): what looks like an escape is escaped itself."""

    def content(cell: str) -> MemoryFile:
        return MemoryFile("b.xlsx", with_sheet(sheet_row(1, "mt", "ref") + sheet_row(2, cell, "r")))

    text = "a_x000D_\nb _x005F_x000D_ c_x00e9_ d_x00 e"
    assert read(content(text)).hypotheses == ("a\r\nb _x000D_ cé d_x00 e",)
    assert refusal(content("_xD800_")) == (
        'b.xlsx, row 2: "mt" holds half a character (\\ud800), which is no text.'
    )


def test_workbooks_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def message(rows: list[list[object]]) -> str:
        return refusal(MemoryFile("b.xlsx", workbook(("S", rows))))

    assert message([["mt", "ref"], ["a", "b"], ["=A1", "b"]]) == (
        'b.xlsx, row 3: "mt" is a formula without a stored value; open the file in a spreadsheet '
        "and save it, or give it as CSV."
    )
    assert message([["mt", "ref"], ["#N/A", "b"]]) == 'b.xlsx, row 2: "mt" is the error #N/A.'
    assert message([["mt", "ref"], ["a", None]]).startswith('b.xlsx, row 2: "ref" is empty')
    assert message([["mt", "ref"], ["a", "b", "c"]]) == (
        "b.xlsx, row 2 has 3 cells, but the header names 2."
    )
    assert message([]) == "b.xlsx is empty: there is nothing to score."
    assert refusal(MemoryFile("b.xlsx", b"\xd0\xcf\x11\xe0old")).startswith(
        "b.xlsx is an old Excel file, or has a password"
    )
    assert refusal(MemoryFile("b.xlsx", b"mt\tref\n")).startswith("b.xlsx cannot be read as XLSX")
    assert refusal("none.xlsx") == "There is no file none.xlsx."
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w") as archive:
        archive.writestr("xl/workbook.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x/>')
    assert "declares an entity" in refusal(MemoryFile("b.xlsx", bomb.getvalue()))
    hidden = io.BytesIO()
    with zipfile.ZipFile(hidden, "w") as archive:
        comment = f"<!--{'x' * 100_000}-->"
        archive.writestr("xl/workbook.xml", f'{comment}<!DOCTYPE x [<!ENTITY a "b">]><x/>')
        archive.writestr("xl/broken.xml", "no XML")
    assert "declares an entity" in refusal(MemoryFile("b.xlsx", hidden.getvalue()))
    assert refusal(MemoryFile("b.xlsx.gz", b"")) == (
        "b.xlsx.gz: a workbook is compressed by itself; unpack the file first."
    )
    monkeypatch.setattr("adequa.io.xlsx._LARGEST", 1000)
    assert "more than the 0 MB that are read" in message(ROWS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert message_without_package() == (
        "b.xlsx: reading XLSX needs openpyxl; install it with: pip install 'adequa[xlsx]'"
    )


def message_without_package() -> str:
    return refusal(MemoryFile("b.xlsx", b""))


def test_a_part_that_lacks_a_role() -> None:
    """Files without what a role needs say so, as those of WMT do."""
    with pytest.raises(AdequaError, match="no known format"):
        list(read_table(file("a.docx", "")))
    with pytest.raises(AdequaError, match="is a table by its name"):
        list(read_parallel([file("a.xlsx", "")], [file("b.txt", "x\n")]))
