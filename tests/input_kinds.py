"""The same translations as files of every kind that is read, for tests of all entry points.

`KINDS` lists the kinds; `Kind.files(content)` writes one. Content is two systems with one or two
references, whose texts have the marks that formats treat in a way of their own.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

SYSTEMS = ("alpha", "beta")
DOCUMENT = "news"

_SOURCES = (
    "Er sagte „ja“.",
    '"Nein, nie", sagte sie.',
    "Der Satz hat A & B; und <b> auch.",
    "Sieben, acht; neun",
    "Ende \\n gut",
)
_ALPHA = (
    'He said "yes".',
    '"No, never," she said.',
    "The sentence has A & B; and <b> too.",
    "Seven, eight; nine",
    '"All is well."',
)
_BETA = (
    'She says "yes", he said.',
    '"Never!"',
    "A sentence with A &amp; B",
    "7, 8; 9",
    "End \\n good, 'all' good",
)
_FIRST = (
    'He said: "yes".',
    '"No, never," she said.',
    "The sentence has A & B; and also <b>.",
    "Seven, eight; nine.",
    '"All is well that ends well."',
)
_SECOND = (
    'He said "yes"; yes.',
    '"No!"',
    "This sentence also has A & B and <b>.",
    "Seven; eight, nine",
    "All's well, it ends well",
)


@dataclass(frozen=True)
class Content:
    """Two systems with their sources and references, each a tuple of texts."""

    sources: tuple[str, ...]
    systems: Mapping[str, tuple[str, ...]]
    references: tuple[tuple[str, ...], ...]  # one for each translator


def content(*, references: int = 1, tabs: bool = False) -> Content:
    """Texts with quotation marks, commas, semicolons and marks of mark-up, also with tabs."""

    def texts(each: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text.replace(" ", "\t", 1) for text in each) if tabs else each

    return Content(
        texts(_SOURCES),
        dict(zip(SYSTEMS, (texts(_ALPHA), texts(_BETA)), strict=True)),
        (texts(_FIRST), texts(_SECOND))[:references],
    )


@dataclass(frozen=True)
class File:
    """A file of an input, and its role in a request."""

    name: str
    role: str  # table, hypotheses, references or source
    data: bytes


Write = Callable[[Content], list[File]]


@dataclass(frozen=True)
class Kind:
    """A kind of input: how it is written, and what has to be said to read it."""

    name: str
    files: Write
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # with two references
    systems: tuple[str, ...] = ()
    language: str | None = None
    tabs: bool = True  # whether texts may have tabs
    is_text: bool = True  # whether there may be a byte-order mark, \r\n and compression
    most_references: int = 2

    def options(self, content: Content) -> dict[str, Any]:
        """What `adequa.read` needs beside the files."""
        return {
            "columns": self.columns if len(content.references) > 1 else {},
            "systems": self.systems,
            "language": self.language,
        }


VARIANTS: dict[str, Callable[[File], File]] = {
    "as it is": lambda file: file,
    "with a byte-order mark": lambda file: replace(file, data=b"\xef\xbb\xbf" + file.data),
    "with \\r\\n": lambda file: replace(file, data=file.data.replace(b"\n", b"\r\n")),
    "compressed": lambda file: replace(
        file, name=f"{file.name}.gz", data=gzip.compress(file.data, mtime=0)
    ),
}


# Plain text and tables


def _plain(content: Content) -> list[File]:
    def lines(texts: Sequence[str]) -> bytes:
        return "".join(f"{text}\n" for text in texts).encode()

    return [
        *(
            File(f"{name}.txt", "hypotheses", lines(texts))
            for name, texts in content.systems.items()
        ),
        *(
            File(f"ref{number}.txt", "references", lines(texts))
            for number, texts in enumerate(content.references, 1)
        ),
        File("src.txt", "source", lines(content.sources)),
    ]


Row = dict[str, Any]


def _rows(content: Content) -> list[Row]:
    """One row per system and segment; the second reference has a column of its own."""
    return [
        {"system": system, "doc": DOCUMENT, "src": source, "mt": text}
        | {f"ref{number or ''}": refs[row] for number, refs in enumerate(content.references)}
        for system, texts in content.systems.items()
        for row, (source, text) in enumerate(zip(content.sources, texts, strict=True))
    ]


def _rows_with_lists(content: Content) -> list[Row]:
    rows = _rows(content)
    for row in rows:
        row["ref"] = [row["ref"], *([row.pop("ref1")] if "ref1" in row else [])]
    return rows


def _wide_rows(content: Content) -> list[Row]:
    return [
        {"src": source}
        | {f"ref{number or ''}": refs[row] for number, refs in enumerate(content.references)}
        | {system: texts[row] for system, texts in content.systems.items()}
        for row, source in enumerate(content.sources)
    ]


def _delimited(rows: Sequence[Row], **options: Any) -> bytes:
    written = io.StringIO()
    writer = csv.DictWriter(written, list(rows[0]), lineterminator="\n", **options)
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue().encode()


def _raw_tsv(content: Content) -> list[File]:
    rows = _rows(content)
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    text = "".join("\t".join(cells) + "\n" for cells in lines)
    return [File("table.tsv", "table", text.encode())]


def _pandas_tsv(content: Content) -> list[File]:
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]

    text = pd.DataFrame(_rows(content)).to_csv(sep="\t", index=False, lineterminator="\n")
    return [File("table.tsv", "table", text.encode())]


def _table(name: str, **options: Any) -> Write:
    return lambda content: [File(name, "table", _delimited(_rows(content), **options))]


def _wide(content: Content) -> list[File]:
    return [File("wide.csv", "table", _delimited(_wide_rows(content)))]


def _xlsx(content: Content) -> list[File]:
    import openpyxl  # type: ignore[import-untyped,unused-ignore]

    book = openpyxl.Workbook()
    rows = _rows(content)
    for cells in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(cells)
    written = io.BytesIO()
    book.save(written)
    return [File("table.xlsx", "table", written.getvalue())]


def _jsonl(content: Content) -> list[File]:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in _rows_with_lists(content))
    return [File("table.jsonl", "table", "".join(lines).encode())]


def _json(content: Content) -> list[File]:
    return [File("table.json", "table", json.dumps(_rows_with_lists(content), indent=1).encode())]


def _parquet(content: Content) -> list[File]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(_rows_with_lists(content)), written)
    return [File("table.parquet", "table", written.getvalue())]


# Mark-up


def _sgm_set(tag: str, by: Mapping[str, Sequence[str]]) -> bytes:
    documents = "".join(
        f'<doc docid="{DOCUMENT}" sysid="{name}">\n'
        + "".join(
            f'<seg id="{row}">{escape(text, quote=False)}</seg>\n'
            for row, text in enumerate(texts, 1)
        )
        + "</doc>\n"
        for name, texts in by.items()
    )
    return f'<{tag} setid="test" srclang="de" trglang="en">\n{documents}</{tag}>\n'.encode()


def _sgm(content: Content) -> list[File]:
    translators = dict(zip("AB", content.references, strict=False))
    return [
        *(
            File(f"{name}.sgm", "hypotheses", _sgm_set("tstset", {name: texts}))
            for name, texts in content.systems.items()
        ),
        File("ref.sgm", "references", _sgm_set("refset", translators)),
        File("src.sgm", "source", _sgm_set("srcset", {"source": content.sources})),
    ]


def _xml(content: Content) -> list[File]:
    def side(tag: str, texts: Sequence[str]) -> str:
        segments = "".join(
            f'<seg id="{row}">{escape(text)}</seg>\n' for row, text in enumerate(texts, 1)
        )
        return f"<{tag}>{segments}</{tag.split(maxsplit=1)[0]}>\n"

    sides = [
        side("src lang='de'", content.sources),
        *(
            side(f"ref lang='en' translator='{name}'", texts)
            for name, texts in zip("AB", content.references, strict=False)
        ),
        *(side(f"hyp system='{name}'", texts) for name, texts in content.systems.items()),
    ]
    text = (
        f'<?xml version="1.0"?>\n<dataset><doc id="{DOCUMENT}">{"".join(sides)}</doc></dataset>\n'
    )
    return [File("table.xml", "table", text.encode())]


def _coded(text: str, before: str, after: str) -> str:
    """Text for XML with codes around its first word, which are no part of the text."""
    first, space, rest = escape(text, quote=False).partition(" ")
    return f"{before}{first}{after}{space}{rest}"


def _tmx(content: Content) -> list[File]:
    def variant(language: str, text: str) -> str:
        coded = _coded(text, '<bpt i="1">&lt;i&gt;</bpt>', '<ept i="1">&lt;/i&gt;</ept>')
        return f'<tuv xml:lang="{language}"><seg>{coded}</seg></tuv>\n'

    def memory(*translations: Sequence[str]) -> bytes:
        units = "".join(
            f'<tu tuid="{row}">{variant("de", source)}'
            + "".join(variant("en-GB", texts[row]) for texts in translations)
            + "</tu>\n"
            for row, source in enumerate(content.sources)
        )
        return (
            '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">'
            f'<header srclang="de"/>\n<body>{units}</body></tmx>\n'
        ).encode()

    return [
        *(
            File(f"{name}.tmx", "hypotheses", memory(texts))
            for name, texts in content.systems.items()
        ),
        File("ref.tmx", "references", memory(*content.references)),
    ]


def _xliff_1_unit(row: int, source: str, target: str, others: Mapping[str, str]) -> str:
    def text(tag: str, plain: str) -> str:
        coded = _coded(plain, '<g id="1">', '<x id="2"/></g>')
        return f"<{tag}>{coded}</{tag}>\n"

    alternatives = "".join(
        f'<alt-trans origin="{name}">{text("target", each)}</alt-trans>\n'
        for name, each in others.items()
    )
    return (
        f'<trans-unit id="{row}">{text("source", source)}{text("target", target)}{alternatives}'
        "</trans-unit>\n"
    )


def _xliff_2_unit(row: int, source: str, target: str, others: Mapping[str, str]) -> str:
    def text(tag: str, plain: str) -> str:
        coded = _coded(plain, '<pc id="1">', '<ph id="2"/></pc>')
        return f"<{tag}>{coded}</{tag}>\n"

    matches = "".join(
        f'<m:match ref="#1" origin="{name}">{text("target", each)}</m:match>\n'
        for name, each in others.items()
    )
    return (
        f'<unit id="{row}"><m:matches>{matches}</m:matches><segment id="1">'
        f"{text('source', source)}{text('target', target)}</segment></unit>\n"
    )


_OASIS = "urn:oasis:names:tc:xliff"


def _xliff_1(content: Content, target: Sequence[str], others: Mapping[str, Sequence[str]]) -> bytes:
    units = "".join(
        _xliff_1_unit(row, source, target[row], {name: each[row] for name, each in others.items()})
        for row, source in enumerate(content.sources)
    )
    return (
        f'<?xml version="1.0"?>\n<xliff version="1.2" xmlns="{_OASIS}:document:1.2">\n'
        f'<file original="{DOCUMENT}" source-language="de" target-language="en" datatype="x"><body>'
        f"{units}</body></file></xliff>\n"
    ).encode()


def _xliff_2(content: Content, target: Sequence[str], others: Mapping[str, Sequence[str]]) -> bytes:
    units = "".join(
        _xliff_2_unit(row, source, target[row], {name: each[row] for name, each in others.items()})
        for row, source in enumerate(content.sources)
    )
    return (
        f'<?xml version="1.0"?>\n<xliff version="2.0" srcLang="de" trgLang="en" '
        f'xmlns="{_OASIS}:document:2.0" xmlns:m="{_OASIS}:matches:2.0">\n'
        f'<file id="f" original="{DOCUMENT}">{units}</file></xliff>\n'
    ).encode()


XliffWriter = Callable[[Content, Sequence[str], Mapping[str, Sequence[str]]], bytes]


def _xliff_files(write: XliffWriter) -> Write:
    return lambda content: [
        *(
            File(f"{name}.xlf", "hypotheses", write(content, texts, {}))
            for name, texts in content.systems.items()
        ),
        *(
            File(f"ref{number}.xlf", "references", write(content, texts, {}))
            for number, texts in enumerate(content.references, 1)
        ),
    ]


def _xliff_table(write: XliffWriter) -> Write:
    return lambda content: [
        File("table.xlf", "table", write(content, content.references[0], content.systems))
    ]


_TWO = {"ref": ("ref", "ref1")}
KINDS = (
    Kind("plain text", _plain),
    Kind("TSV, raw", _raw_tsv, _TWO, tabs=False),
    Kind("TSV, quoted by pandas", _pandas_tsv, _TWO),
    Kind("TSV, all quoted", _table("table.tsv", delimiter="\t", quoting=csv.QUOTE_ALL), _TWO),
    Kind("CSV", _table("table.csv"), _TWO),
    Kind("CSV, all quoted", _table("table.csv", quoting=csv.QUOTE_ALL), _TWO),
    Kind("CSV, semicolons", _table("table.csv", delimiter=";"), _TWO),
    Kind("CSV, wide", _wide, _TWO, systems=SYSTEMS),
    Kind("XLSX", _xlsx, _TWO, is_text=False),
    Kind("JSONL", _jsonl),
    Kind("JSON", _json),
    Kind("Parquet", _parquet, is_text=False),
    Kind("WMT SGM", _sgm),
    Kind("WMT XML", _xml),
    Kind("TMX", _tmx, language="de-en"),
    Kind("XLIFF 1.2", _xliff_files(_xliff_1)),
    Kind("XLIFF 2.0", _xliff_files(_xliff_2)),
    Kind("XLIFF 1.2, alternatives", _xliff_table(_xliff_1), most_references=1),
    Kind("XLIFF 2.0, alternatives", _xliff_table(_xliff_2), most_references=1),
)


@dataclass(frozen=True)
class Case:
    """A kind of input in one variant, with its texts."""

    kind: Kind
    variant: str
    content: Content

    def files(self) -> list[File]:
        return [VARIANTS[self.variant](file) for file in self.kind.files(self.content)]

    def __str__(self) -> str:
        tabs = ", tabs" if "\t" in self.content.sources[0] else ""
        return f"{self.kind.name}, {self.variant}, {len(self.content.references)} ref{tabs}"


def cases() -> list[Case]:
    """Every kind as it is with one and two references and with tabs, and in every variant."""
    listed = []
    for kind in KINDS:
        variants = VARIANTS if kind.is_text else ("as it is",)
        listed += [Case(kind, variant, content()) for variant in variants]
        if kind.most_references > 1:
            listed.append(Case(kind, "as it is", content(references=2)))
        if kind.tabs:
            listed.append(Case(kind, "as it is", content(tabs=True)))
    return listed
