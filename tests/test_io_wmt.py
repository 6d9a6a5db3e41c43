"""WMT's .sgm and .xml files, alone and beside plain text."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adequa.errors import AdequaError
from adequa.io.read import read_parallel, read_table
from adequa.segments import Segments, concatenate

XML = """<?xml version='1.0' encoding='utf-8'?>
<dataset id="newstest2021">
  <collection id="general">
  <doc origlang="cs" id="d1">
    <src lang="cs"><p><seg id="1">s1 &amp; co</seg></p><p><seg id="2">s2</seg></p></src>
    <ref lang="en" translator="A"><p><seg id="1">A1</seg><seg id="2"> A2
    </seg></p></ref>
    <ref lang="en" translator="B"><p><seg id="1">B1</seg><seg id="2"></seg></p></ref>
    <hyp system="X" lang="en"><p><seg id="1">x1</seg><seg id="2"></seg></p></hyp>
    <hyp system="Y" lang="en"><p><seg id="1">y&#x31;</seg><seg id="2">y2</seg></p></hyp>
  </doc>
  </collection>
  <doc origlang="cs" id="suite" testsuite="idioms">
    <src lang="cs"><p><seg id="1">left out</seg></p></src>
  </doc>
  <doc origlang="cs" id="d2">
    <src lang="cs"><seg id="1">s3</seg></src>
    <ref lang="en" translator="B"><seg id="1">B3</seg></ref>
    <hyp system="Y" lang="en"><seg id="1">y3</seg></hyp>
    <hyp system="X" lang="en"><seg id="1">x3</seg></hyp>
  </doc>
</dataset>
"""

SRC = """<srcset setid="newstest2014" srclang="any">
<DOC sysid="source" DocID="d1" genre="news" origlang="cs">
<hl><seg id="1"> AT&T &amp; Sons </seg></hl>
<p><seg id=2>a < b &lt; c &#233; &#xE9; &eacute; &copy &amp;lt; &#0; &#xD800;</seg></p>
</DOC>
<doc docid='d2'><p><SEG ID="1">on
  two lines</SEG></p></doc>
</srcset>
"""


def sgm(kind: str, **texts: list[str]) -> str:
    """One document d1 of two segments and d2 of one, by each system."""
    documents = "".join(
        f'<doc docid="d1" sysid="{by}"><seg id="1">{one}</seg>\n<seg id="2">{two}</seg></doc>\n'
        f'<doc docid="d2" sysid="{by}"><seg id="1">{three}</seg></doc>\n'
        for by, (one, two, three) in texts.items()
    )
    return f'<{kind} setid="t" srclang="cs" trglang="en">\n{documents}</{kind}>\n'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def error(*args: Any, **options: Any) -> str:
    read: Callable[..., Iterator[Segments]] = (
        read_table if isinstance(args[0], str) else read_parallel
    )
    with pytest.raises(AdequaError) as caught:
        list(read(*args, **options))
    return str(caught.value)


def test_xml_as_a_whole() -> None:
    x, y = read_table(write("wmt.xml", XML), keep_ids=("doc", "system"))
    assert x.references is y.references
    assert x == Segments(
        ("x1", "", "x3"),
        (("A1", "B1"), ("A2",), ("B3",)),
        ("s1 & co", "s2", "s3"),
        {"system": ("X",) * 3, "doc": ("d1", "d1", "d2")},
    )
    assert y.hypotheses == ("y1", "y2", "y3")


def test_xml_in_every_part() -> None:
    path = write("wmt.xml", XML)
    whole = list(read_table(path, batch=2))
    assert list(read_parallel([path], [path], path, batch=2)) == whole
    Path("wmt.xml.gz").write_bytes(gzip.compress(XML.encode()))
    assert list(read_parallel([path], ["wmt.xml.gz"], path, batch=2)) == whole
    plain = write("z.txt", "z1\nz2\nz3\n")
    batches = list(read_parallel([plain, path], [plain, path]))
    assert [batch.ids["system"][0] for batch in batches] == ["z", "X", "Y"]
    assert batches[0].references == (("z1", "A1", "B1"), ("z2", "A2"), ("z3", "B3"))
    assert batches[0].ids["doc"] == ("d1", "d1", "d2")
    assert batches[0].sources == ("s1 & co", "s2", "s3")  # which come with the translations


def test_names_of_systems_in_files() -> None:
    single = sgm("tstset", inside=["1", "2", "3"])
    files = [write("uedin.sgm", single), write("wmt.xml", XML), write("X.txt", "1\n2\n3\n")]
    names = [batch.ids["system"][0] for batch in read_parallel(files, ["X.txt"])]
    assert names == ["uedin", "wmt/X", "Y", "X"]


def test_sgm() -> None:
    source = write("src.sgm", SRC)
    references = write("ref.sgm", sgm("refset", a=["a1", "a2", "a3"], b=["b1", "", "b3"]))
    systems = write("all.sgm", sgm("tstset", u=["u1", "", "u3"], v=["v1", "v2", "v3"]))
    u, v = read_parallel([systems], [references], source)
    assert u == Segments(
        ("u1", "", "u3"),
        (("a1", "b1"), ("a2",), ("a3", "b3")),
        (
            "AT&T & Sons",
            "a < b < c é é &eacute; &copy &lt; \ufffd \ufffd",
            "on two lines",
        ),
        {"system": ("u",) * 3, "doc": ("d1", "d1", "d2")},
    )
    assert v.hypotheses == ("v1", "v2", "v3")
    everything = SRC + Path(references).read_text() + Path(systems).read_text()
    assert list(read_table(write("everything.sgm", everything))) == [u, v]


def test_sgm_with_names_on_the_sets_and_without_numbers() -> None:
    texts = "<doc docid=d><seg>1</seg><seg>2</seg></doc><doc docid=e><seg>3</seg></doc>"
    content = "<mteval>" + "".join(
        f"<{kind} {by}>{texts}</{kind}>"
        for kind, by in [("refset", "refid=r1"), ("refset", "refid=r2"), ("tstset", "sysid=s")]
    )
    (batch,) = read_table(write("mteval.sgm", content))
    assert batch == Segments(
        ("1", "2", "3"),
        (("1", "1"), ("2", "2"), ("3", "3")),
        None,
        {"system": ("s",) * 3, "doc": ("d", "d", "e")},
    )


def test_sgm_with_a_system_beside_the_one_copied_from_the_source() -> None:
    content = sgm("tstset", ref=["1", "2", "3"]).replace("<doc ", '<DOC sysid="uedin" ')
    path = write("all.sgm", content + sgm("refset", ref=["1", "2", "3"]))
    (batch,) = read_table(path)
    assert batch.ids["system"] == ("uedin",) * 3


# Trimmed, without what XML cannot hold, and with line ends as XML hands them over.
xml_text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.just("\n"),
    max_size=12,
).map(str.strip)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            xml_text.filter(bool),
            st.lists(
                st.tuples(
                    xml_text, st.lists(xml_text.filter(bool), min_size=1, max_size=3), xml_text
                ),
                min_size=1,
            ),
        ),
        min_size=1,
        unique_by=lambda document: " ".join(document[0].split()),
    )
)
def test_xml_comes_back(
    documents: list[tuple[str, list[tuple[str, list[str], str]]]],
) -> None:
    def segs(texts: list[tuple[int, str]]) -> str:
        return "".join(f"<seg id='{i}'>{escape(text)}</seg>" for i, text in texts)

    parts = []
    for name, rows in documents:
        parts.append(f"<doc id={quoteattr(name)}>")
        parts.append(f"<src>{segs([(i, source) for i, (source, _, _) in enumerate(rows)])}</src>")
        for t in range(3):
            texts = [(i, refs[t]) for i, (_, refs, _) in enumerate(rows) if len(refs) > t]
            parts.append(f"<ref translator='{t}'>{segs(texts)}</ref>")
        parts.append(
            f"<hyp system='S'>{segs([(i, mt) for i, (_, _, mt) in enumerate(rows)])}</hyp>"
        )
        parts.append("</doc>")
    (batch,) = read_table(write("t.xml", f"<dataset>{''.join(parts)}</dataset>"))
    rows = [row for _, rows in documents for row in rows]
    assert batch.sources == tuple(source for source, _, _ in rows)
    assert batch.references == tuple(tuple(refs) for _, refs, _ in rows)
    assert batch.hypotheses == tuple(mt for _, _, mt in rows)
    assert batch.ids["doc"] == tuple(name for name, rows in documents for _ in rows)


def test_other_encodings_that_xml_declares() -> None:
    content = XML.replace("'utf-8'", "'iso-8859-1'").replace("y2", "é").encode("latin-1")
    _, y = read_table(write("latin.xml", content))
    assert y.hypotheses[1] == "é"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</dataset>", "", "t.xml, line 23: broken XML (no element found)."),
        ("</collection>", "", "t.xml, line 22: broken XML (mismatched tag)."),
        ("&amp;", "&", "t.xml, line 5: broken XML (not well-formed (invalid token))."),
        (
            "'utf-8'",
            "'klingon'",
            "t.xml has an encoding that cannot be read: unknown encoding: klingon.",
        ),
        (
            '<hyp system="X" lang="en"><seg id="1">x3</seg></hyp>',
            "",
            'System "X" in t.xml lacks document "d2", segment 1.',
        ),
        (
            '<seg id="1">s3</seg>',
            "",
            'The source in t.xml lacks document "d2", segment 1.',
        ),
        (
            '<seg id="1">B3</seg>',
            "",
            't.xml, document "d2", segment 1 has no reference.',
        ),
        (
            '<seg id="1">B3</seg>',
            '<seg id="1">B3</seg>\n<seg id="1">B4</seg>',
            't.xml, document "d2", segment 1 of "B" is here a second time.',
        ),
    ],
)
def test_bad_xml(old: str, new: str, message: str) -> None:
    assert error(write("t.xml", XML.replace(old, new))) == message


def test_a_file_of_sources_and_hypotheses() -> None:
    alone = re.sub("<ref.*?</ref>", "", XML, flags=re.DOTALL)
    segments = concatenate(list(read_table(write("wmt.xml", alone))))
    assert segments.sources == ("s1 & co", "s2", "s3") * 2
    assert segments.ids["system"] == ("X",) * 3 + ("Y",) * 3
    assert not segments.has_references
    unread = re.sub("<src.*?</src>", "", alone, flags=re.DOTALL)
    assert error(write("hyp.xml", unread)) == "hyp.xml holds no references, only hypotheses."


def test_files_without_the_part_asked_for() -> None:
    plain, ref = write("p.txt", "1\n2\n3\n"), write("r.sgm", sgm("refset", a=["1", "2", "3"]))
    assert error([ref], [plain]) == "r.sgm holds no hypotheses, only references."
    assert error([plain], [write("s.sgm", SRC)]) == "s.sgm holds no references, only sources."
    assert error([plain], [plain], ref) == "r.sgm holds no sources, only references."
    assert error(ref) == "r.sgm holds no hypotheses, only references."
    nothing = (
        "holds no segments: .xml files have them in <src>, <ref> and <hyp>, "
        ".sgm files in <srcset>, <refset> and <tstset>."
    )
    assert error(write("none.sgm", "text")) == f"none.sgm {nothing}"
    assert error(write("none.xml", "<html><seg>a</seg></html>")) == (f"none.xml {nothing}")
    assert error(write("empty.xml", "")) == "empty.xml, line 1: broken XML (no element found)."
    assert error("missing.xml") == "There is no file missing.xml."


def test_settings_that_mean_nothing_here() -> None:
    path = write("wmt.xml", XML)
    assert error(path, columns={"mt": ("X",)}) == (
        "wmt.xml has no columns to choose from: leave --column out."
    )
    assert error(path, keep_ids=("genre",)) == 'wmt.xml has no "genre". It has: system, doc.'


def test_segments_that_do_not_match() -> None:
    ref = write("r.sgm", sgm("refset", a=["1", "2", "3"]))
    other = write("h.sgm", sgm("tstset", s=["1", "2", "3"]).replace('docid="d2"', 'docid="d3"'))
    assert error([other], [ref]) == (
        "The files do not hold the same segments in the same order: position 3 is "
        'h.sgm, document "d3", segment 1, but r.sgm, document "d2", segment 1.'
    )
    plain = write("p.txt", "1\n2\n")
    assert error([plain], [ref]) == (
        "All files need the same number of segments, but p.txt has 2 lines, r.sgm has 3 segments."
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</seg></doc>\n</", "</doc>\n</", "line 4: <seg> is no part of a whole segment in a "),
        ("</seg></doc>\n</refset>", "", "line 4: <seg> is no part of a whole segment in a "),
        ("</doc>\n</refset>", "", "line 4: <seg> is no part of a whole segment in a "),
        ('<doc docid="d1" sysid="a">', "", "line 2: <seg> is no part of a whole segment in a "),
        ('<seg id="2">', "", "line 3: </seg> is no part of a whole segment in a <doc> of a "),
        ('<seg id="2">', '<seg id="1">', 'document "d1", segment 1 of "a" is here a second ti'),
    ],
)
def test_bad_sgm(old: str, new: str, message: str) -> None:
    content = sgm("refset", a=["1", "2", "3"])
    assert old in content
    # Only the last of several places, so that the line is sure.
    before, _, after = content.rpartition(old)
    path = write("r.sgm", before + new + after)
    found = error([write("p.txt", "1\n2\n3\n")], [path])
    assert found.startswith(f"r.sgm, {message}")


def test_sgm_that_is_not_utf8() -> None:
    path = write("r.sgm", sgm("refset", a=["1", "é", "3"]).encode("latin-1"))
    assert error([path], [path]).startswith("r.sgm, line 3: byte 13 of the line (0xe9) is not UTF")
