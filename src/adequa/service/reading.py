"""Files of a request, read by the readers of the command line.

Files come with their content, and no path of a request is ever opened. `/v1/read` also takes files
without hypotheses, or with neither references nor a source, so that the page can show what was read
of each.
"""

from __future__ import annotations

import base64
import binascii
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any

from adequa.comparison.compare import check_same_segments, segments_from_batches
from adequa.errors import AdequaError
from adequa.io.disguise import TESTED_LINES, DisguisedFileError, refuse_disguised
from adequa.io.read import (
    READERS,
    TABLES,
    InputSummary,
    Role,
    bring_sources,
    format_suffix,
    open_table,
    read_parallel,
    read_part,
    read_table,
)
from adequa.io.text import MemoryFile, byte_blocks, ignore, lines
from adequa.languages import TargetLanguage, target_language
from adequa.metrics.language import empty_note, empty_outputs, other_notes, read_language
from adequa.segments import Segments
from adequa.service.limits import Limits, RequestError
from adequa.service.schemas import FilesRequest, Quoting, RequestFile

_BATCH = 64  # segments; few, so that limits are checked before much is in memory
_REFERENCE = re.compile(r"(?<![a-z])(refs?|references?|gold|human)(?![a-z])|^ref", re.I)
_SOURCE = re.compile(r"(?<![a-z])(srcs?|sources?)(?![a-z])|^(src|source)", re.I)
_ROLE_OF_PART: Mapping[str, Role] = {
    "hypotheses": "hypotheses",
    "references": "references",
    "sources": "source",
}
# Sentences of readers name options of the command line; a request has fields.
_FIELDS_OF_OPTIONS = (
    (re.compile(r"; name one of them with -t NAME=FILE"), '; give one of them another "system"'),
    (re.compile(r"leave out \"[^\"]*=\""), 'leave out "system"'),
    (re.compile(r"-t, -r and -s take plain text; give it with -i"), 'its role is "table"'),
    (re.compile(r"with --column (\w+)=NAME"), r'by "columns": {"\1": NAME}'),
    (re.compile(r"--column (\w+)"), r'"\1" of "columns"'),
    (re.compile(r"--column"), '"columns"'),
    (re.compile(r"name them all: --systems .*", re.DOTALL), 'name them all in "systems".'),
    (
        re.compile(r"--systems takes names of columns, with commas in between"),
        '"systems" takes a list of names of columns',
    ),
    (re.compile(r"--systems"), '"systems"'),
    (re.compile(r"--quoting (rfc4180|none)"), r'"quoting": "\1"'),
    (re.compile(r"--quoting"), '"quoting"'),
    (re.compile(r"plain text goes in by -t and -r"), 'plain text has another role than "table"'),
    (
        re.compile(r"give references with -r, or the source with -s"),
        "give a file of references, or of sources",
    ),
    (re.compile(r"-r, or a column ref"), '"references", or "ref" of rows'),
    (re.compile(r"-s, or a column src"), '"sources", or "src" of rows'),
    (re.compile(r" with -l\b"), ' by "language"'),
    (re.compile(r"-l ([a-z]+(-[a-z]+)?)\b"), r'"\1"'),
)


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a request, its role, and the name of its system, empty if it has none."""

    file: MemoryFile
    role: Role
    system: str


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """What was read from the files of a request; systems or references may be missing."""

    summaries: tuple[InputSummary, ...]
    columns: tuple[str, ...]  # of a table
    systems: Mapping[str, Segments]
    parts: Mapping[str, tuple[str, ...]]  # hypotheses by system, where there are no references
    references: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...] | None
    language: TargetLanguage
    notes: tuple[str, ...] = ()

    @property
    def test_set(self) -> str:
        """The name of the test set: the first file of references, or the table, or the source."""
        for roles in ({"references", "table"}, {"source"}):
            for summary in self.summaries:
                if summary.role in roles:
                    return summary.name
        return ""

    def to_dict(self, *, texts: bool) -> dict[str, Any]:
        """Summaries of the files, and texts in the shape of a request, ready for JSON."""
        content: dict[str, Any] = {
            "files": [summary.to_dict() for summary in self.summaries],
            "columns": list(self.columns),
            "language": self.language.to_dict(),
            "notes": [*self.notes, *self._empty_notes()],
        }
        return {**content, **self._texts()} if texts else content

    def _empty_notes(self) -> Iterator[str]:
        """A note on each system with empty hypotheses; scoring has it too."""
        read = {name: part.hypotheses for name, part in self.systems.items()} or self.parts
        for name, hypotheses in read.items():
            empty = empty_outputs(hypotheses)
            if empty:
                yield empty_note(name, empty, len(hypotheses))

    def _texts(self) -> dict[str, Any]:
        if not self.systems:
            return {
                "systems": {name: list(texts) for name, texts in self.parts.items()},
                "references": list(map(list, self.references)),
                "sources": None if self.sources is None else list(self.sources),
                "documents": None,
            }
        check_same_segments(self.systems)
        first = next(iter(self.systems.values()))
        documents = first.ids.get("doc")
        return {
            "systems": {name: list(part.hypotheses) for name, part in self.systems.items()},
            "references": list(map(list, first.references)) if first.has_references else [],
            "sources": None if first.sources is None else list(first.sources),
            "documents": None if documents is None else list(documents),
        }


def read_files(request: FilesRequest, limits: Limits, *, complete: bool = True) -> ReadTexts:
    """The texts of the files of a request; an error is one sentence that names the file.

    With `complete`, files without hypotheses are refused, and files without references or source.
    """
    try:
        files = _uploaded_files(request.uploads, limits)
    except AdequaError as error:
        raise refusal(error) from None
    tables = [each for each in files if each.role == "table"]
    try:
        if tables:
            return _read_one_table(files, tables, request, limits)
        roles = {each.role for each in files}
        missing = [] if "hypotheses" in roles else ["hypotheses"]
        hypotheses = [each.file for each in files if each.role == "hypotheses"]
        if not roles & {"references", "source"} and not bring_sources(hypotheses):
            missing.append("references")
        if not missing:
            return _read_together(files, request, limits)
        if complete:
            raise RequestError(
                422, f"The files hold no {' and no '.join(missing)}: {_names(files)}."
            )
        return _read_apart(files, request, limits)
    except AdequaError as error:
        raise refusal(error, tables[0].file if tables else None) from None


# Files, before they are read


def _uploaded_files(requests: Sequence[RequestFile], limits: Limits) -> list[UploadedFile]:
    if len(requests) > limits.files:
        raise RequestError(
            413, f"There are {len(requests):,} files, and this server takes {limits.files} at once."
        )
    files = [MemoryFile(each.name, _content(each)) for each in requests]
    _check_unpacked(files, limits)
    return [_upload(request, file) for request, file in zip(requests, files, strict=True)]


def _upload(request: RequestFile, file: MemoryFile) -> UploadedFile:
    suffix = format_suffix(file)
    if suffix not in READERS and request.role != "table":
        _refuse_disguised(file, tabs=request.role is None)
    return UploadedFile(file, request.role or _guessed_role(file, suffix), request.system or "")


def _content(request: RequestFile) -> bytes:
    if (request.text is None) == (request.base64 is None):
        raise RequestError(422, f'{request.name} needs its content, as "text" or as "base64".')
    if request.text is not None:
        return request.text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(request.base64 or "", validate=True)
    except (binascii.Error, ValueError):
        raise RequestError(422, f"The content of {request.name} is not base64.") from None


def _check_unpacked(files: Sequence[MemoryFile], limits: Limits) -> None:
    """Raise if files are too large together when they are unpacked."""
    size = 0
    for file in files:
        for part in _unpacked_sizes(file):
            size += part
            if size > limits.unpacked:
                raise RequestError(
                    413,
                    f"The files up to {file.name} have more than {limits.unpacked:,} bytes when "
                    "they are unpacked, the most that this server takes; send fewer segments.",
                )


def _unpacked_sizes(file: MemoryFile) -> Iterator[int]:
    """Bytes of a file when it is unpacked, in parts, so that a large one need not be."""
    suffix = format_suffix(file)
    if suffix == ".xlsx":
        try:
            with zipfile.ZipFile(BytesIO(file.content)) as archive:
                yield from [info.file_size for info in archive.infolist()]
        except (zipfile.BadZipFile, ValueError):
            return  # as its reader will say
    elif suffix == ".parquet":
        from adequa.io.parquet import unpacked_sizes  # noqa: PLC0415  # an extra

        yield from unpacked_sizes(file.name, file.content)
    else:
        yield from map(len, byte_blocks(file))


def _guessed_role(file: MemoryFile, suffix: str) -> Role:
    """The role of a file by its format, by what is in it, and by its name."""
    if suffix in {".sgm", ".sgml", ".xml"}:
        return _role_of_wmt(file)
    if suffix.endswith(("xlf", "xliff")):
        return _role_of_xliff(file)
    if suffix in READERS and suffix != ".tmx":
        return "table"
    return _role_in_name(file.name) or ("references" if suffix == ".tmx" else "hypotheses")


def _role_in_name(name: str) -> Role | None:
    if _REFERENCE.search(name):
        return "references"
    return "source" if _SOURCE.search(name) else None


def _role_of_wmt(file: MemoryFile) -> Role:
    from adequa.io.wmt import read_marked_up  # noqa: PLC0415  # only where needed

    parts = set(read_marked_up(file, advance=ignore).texts)
    if {"hypotheses", "references"} <= parts:
        return "table"
    roles = [role for part, role in _ROLE_OF_PART.items() if part in parts]
    by_name = _role_in_name(file.name)
    return by_name if by_name in roles else roles[0]


def _role_of_xliff(file: MemoryFile) -> Role:
    from adequa.io.bitext import read_bitext  # noqa: PLC0415  # only where needed

    try:
        parts = set(read_bitext(file, None, language=None, advance=ignore).texts)
    except AdequaError:  # it is faulty, as its reader will say
        parts = set()
    is_table = {"hypotheses", "references"} <= parts  # alternatives of systems, and targets
    return "table" if is_table else _role_in_name(file.name) or "hypotheses"


def _refuse_disguised(file: MemoryFile, *, tabs: bool) -> None:
    """Raise if a file that is plain text by its name is plainly something else."""
    if b"\x00" not in file.content[:1000]:  # no text at all, as its reader will say
        refuse_disguised(file.name, list(islice(lines(file), TESTED_LINES)), tabs=tabs)


# Reading


def _read_one_table(
    files: Sequence[UploadedFile],
    tables: Sequence[UploadedFile],
    request: FilesRequest,
    limits: Limits,
) -> ReadTexts:
    file = tables[0].file
    if len(files) > 1:
        raise RequestError(
            422,
            f"{file.name} is a table, which holds all texts, and there are {len(files)} files: "
            f"{_names(files)}; give it alone, or say what else it holds.",
        )
    summaries: list[InputSummary] = []
    batches = read_table(
        file,
        columns={name: tuple(columns) for name, columns in (request.columns or {}).items()},
        documents=True,
        quoting=request.quoting,
        systems=request.system_columns,
        language=request.language,
        describe=summaries.append,
        batch=_BATCH,
    )
    columns = _column_names(file, request.quoting)
    return _texts(_within_limits(batches, file.name, limits), summaries, request, columns)


def _read_together(
    files: Sequence[UploadedFile], request: FilesRequest, limits: Limits
) -> ReadTexts:
    of_role = {
        role: [each for each in files if each.role == role] for role in _ROLE_OF_PART.values()
    }
    if len(of_role["source"]) > 1:
        raise RequestError(422, f"There is more than one source: {_names(of_role['source'])}.")
    summaries: list[InputSummary] = []
    batches = read_parallel(
        [each.file for each in of_role["hypotheses"]],
        [each.file for each in of_role["references"]],
        next((each.file for each in of_role["source"]), None),
        names=[each.system for each in of_role["hypotheses"]],
        language=request.language,
        describe=summaries.append,
        batch=_BATCH,
    )
    return _texts(_within_limits(batches, _names(files), limits), summaries, request)


def _read_apart(files: Sequence[UploadedFile], request: FilesRequest, limits: Limits) -> ReadTexts:
    """What each file holds by itself, where hypotheses, or references and source, are missing."""
    summaries: list[InputSummary] = []
    hypotheses: dict[str, tuple[str, ...]] = {}
    references: list[tuple[tuple[str, ...], ...]] = []
    sources: tuple[str, ...] | None = None
    for each in files:
        part = read_part(each.file, each.role, name=each.system, language=request.language)
        summaries.append(part.summary)
        limits.check_segments(part.summary.segments * max(len(part.systems), 1))
        for name, texts in part.systems.items():
            if name in hypotheses:
                raise RequestError(422, f'Two systems are called "{name}": {_names(files)}.')
            hypotheses[name] = texts
        if part.references is not None:
            references.append(part.references)
        sources = part.sources if part.sources is not None else sources
    joined = tuple(
        tuple(text for cells in row for text in cells) for row in zip(*references, strict=False)
    )
    detected_in = _all(joined or hypotheses.values())
    return ReadTexts(
        tuple(summaries),
        (),
        {},
        hypotheses,
        joined,
        sources,
        target_language(request.language, detected_in),
    )


def _all(columns: Iterable[tuple[str, ...]]) -> Iterator[str]:
    return (text for column in columns for text in column)


def _texts(
    batches: Iterator[Segments],
    summaries: Sequence[InputSummary],
    request: FilesRequest,
    columns: Sequence[str] = (),
) -> ReadTexts:
    """The segments of the chosen language, or of the only one that there is."""
    stream = read_language(batches, request.language)
    systems = segments_from_batches(stream.batches)
    return ReadTexts(
        tuple(summaries), tuple(columns), systems, {}, (), None, stream.target, other_notes(stream)
    )


def _within_limits(batches: Iterable[Segments], name: str, limits: Limits) -> Iterator[Segments]:
    """Batches, as long as they are within the limits of a request."""
    count = 0
    for batch in batches:
        limits.check_segments(count + len(batch))
        for field, texts in (
            ("hypothesis", batch.hypotheses),
            ("source", batch.sources or ()),
            ("reference", [max(texts, key=len, default="") for texts in batch.references]),
        ):
            limits.check_texts(f"{name}: the {field} in row", texts, count + 1)
        for number, references in enumerate(batch.references, count + 1):
            if len(references) > limits.references:
                raise RequestError(
                    422,
                    f"{name}: row {number:,} has {len(references)} references, and this server "
                    f"takes {limits.references} at most.",
                )
        count += len(batch)
        yield batch


def _column_names(file: MemoryFile, quoting: Quoting) -> tuple[str, ...]:
    """The names of the columns of a table; none if it has none, or they cannot be read."""
    if format_suffix(file) not in TABLES:
        return ()
    try:
        with open_table(file, ignore, quoting) as table:
            return tuple(name[:200] for name in table.column_names[:100])
    except AdequaError:
        return ()


# Refusals


def refusal(error: AdequaError, table: MemoryFile | None = None) -> RequestError:
    """The error of a reader as a request's: fields in place of options, and what can be decided."""
    sentence = str(error)
    question: dict[str, Any] | None = None
    if isinstance(error, DisguisedFileError):
        role = _role_in_name(error.name) or "hypotheses"
        question = {"kind": "format", "file": error.name, "ending": error.ending, "role": role}
    elif table is not None and "--quoting" in sentence:
        question = {"kind": "quoting", "file": table.name}
    elif table is not None and ("--column" in sentence or "column" in sentence):
        columns = _column_names(table, "auto")
        question = {"kind": "columns", "file": table.name, "columns": list(columns)}
    for option, field in _FIELDS_OF_OPTIONS:
        sentence = option.sub(field, sentence)
    return RequestError(422, sentence, question=question)


def _names(files: Iterable[UploadedFile]) -> str:
    return ", ".join(each.file.name for each in files)
