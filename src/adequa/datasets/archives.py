"""Official archives turned into judgements: one function for each layout.

Members of tar and zip archives are read by their names; nothing is unpacked onto the disk.

The layouts are those that the archives' own read-me files and public programs that read them
describe. None of these functions has been run on an original here: there was no network.
"""

from __future__ import annotations

import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import BinaryIO, TypeAlias

import numpy as np

from adequa.datasets.registry import Dataset
from adequa.errors import AdequaError, counted
from adequa.io.judgements import judgements_of
from adequa.io.rankings import SystemOutputs, outputs_by_pair, preferences_from_rankings, with_texts
from adequa.io.text import unreadable
from adequa.judgements import FileRows, Preferences, Ratings

# The zipfile module says RuntimeError of encrypted members, and NotImplementedError of methods.
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    lzma.LZMAError,
    zlib.error,
    RuntimeError,
    NotImplementedError,
)


def members(
    archive: Path,
    is_selected: Callable[[str], bool],
    *,
    inside: Callable[[str], bool] | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the selected files of an archive, in its order.

    With `inside`, the files are those of the archives within the archive that it selects.
    """
    try:
        with archive.open("rb") as opened:
            if inside is None:
                yield from _members(opened, is_selected)
            else:
                for _, content in _members(opened, inside):
                    yield from _members(io.BytesIO(content), is_selected)
    except _DAMAGED as error:
        raise AdequaError(
            f"{archive} is not a whole archive: it is damaged, encrypted, cut short, or none at "
            "all."
        ) from error
    except OSError as error:
        raise unreadable(str(archive), error) from error


def text_lines(place: str, content: bytes) -> list[str]:
    """The lines of a member, which is UTF-8."""
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AdequaError(f"{place}, line {line} is not UTF-8.") from error
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _members(archive: BinaryIO, is_selected: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                if not entry.is_dir() and is_selected(entry.filename):
                    yield entry.filename, opened.read(entry)
        return
    archive.seek(0)
    with tarfile.open(fileobj=archive, mode="r:*") as tar:
        for member in tar:
            if is_selected(member.name) and (content := tar.extractfile(member)) is not None:
                yield member.name, content.read()


Converter: TypeAlias = Callable[[Dataset, Sequence[Path]], Ratings | Preferences]
ArchiveRows: TypeAlias = list[tuple[str, ...]]

_PARALLEL = re.compile(r"(?:DAseg\.)?newstest\d{4}\.(source|reference|mt-system|human)\.(.+)")
_OUTPUT = re.compile(r"(?:^|/)(?:plain|txt)/system-outputs/(news\w*\d{4})/([a-z]{2}-[a-z]{2})/")
_TEXT = re.compile(
    r"(?:^|/)(?:plain|txt)/(?:references|sources)/"
    r"(news\w*\d{4})-(?:([a-z]{2})([a-z]{2})-)?(ref|src)\.([a-z]{2})$"
)
_NO_REFERENCE = "NO REFERENCE AVAILABLE"
_SPLITS = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}


def parallel_files(entry: Dataset, archives: Sequence[Path]) -> Ratings | Preferences:
    """DA of 2015 and 2016: source, reference, output and score of a pair, each in a file."""
    (archive,) = archives
    parts: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for name, content in members(
        archive, lambda name: _PARALLEL.fullmatch(_base(name)) is not None
    ):
        if match := _PARALLEL.fullmatch(_base(name)):
            parts[match[2]][match[1]] = text_lines(f"{archive}: {name}", content)
    rows: ArchiveRows = []
    for pair in entry.pairs:
        needed = [parts[pair].get(part) for part in ("source", "mt-system", "reference", "human")]
        files = [lines for lines in needed if lines is not None]
        if len(files) < len(needed) or len(set(map(len, files))) > 1:
            raise AdequaError(f"{archive} does not hold four files of one length for {pair}.")
        for number, cells in enumerate(zip(*files, strict=True), 1):
            rows.append((pair, str(number), *cells))
    return _from_rows(str(archive), ("lp", "segment", "src", "mt", "ref", "score"), rows)


def segment_scores(entry: Dataset, archives: Sequence[Path]) -> Ratings | Preferences:
    """DA of 2017: scores by pair, system and segment, and the submitted texts in an inner archive.

    Lines are pair, test set, system, segment and score, with spaces in between, after a header.
    """
    (archive,) = archives
    lines = [
        line.split()
        for name, content in members(archive, lambda name: _base(name) == "DA-seglevel.csv")
        for line in text_lines(f"{archive}: {name}", content)[1:]
    ]
    outputs = _submitted(archive, entry.pairs, inside=_is_inner)
    rows: ArchiveRows = []
    for cells in lines:
        if len(cells) != 5:  # noqa: PLR2004 - as in the docstring
            raise AdequaError(
                f"{archive}: DA-seglevel.csv has a line of {counted(len(cells), 'cell')}, not 5."
            )
        pair, _, system, segment, score = cells
        if pair in outputs:
            texts = _texts_of(outputs[pair], pair, system, segment)
            rows.append((pair, system, segment, *texts, score))
    return _from_rows(str(archive), ("lp", "system", "segment", "src", "mt", "ref", "score"), rows)


def _is_inner(name: str) -> bool:
    return _base(name) == "wmt17-metrics-task-no-hybrids.tgz"


def _texts_of(outputs: SystemOutputs, pair: str, system: str, segment: str) -> tuple[str, str, str]:
    """Source, output and reference; empty where there is none, so that the row is not used."""
    texts = outputs.of(system, pair)
    number = int(segment) if segment.isdecimal() else 0
    if texts is None or not 0 < number <= len(texts):
        return "", "", ""
    source = outputs.source[number - 1] if outputs.source else ""
    return source, texts[number - 1], outputs.reference[number - 1]


def rankings(entry: Dataset, archives: Sequence[Path]) -> Ratings | Preferences:
    """RR: CSV files of rankings in one archive, the submitted texts in the other."""
    judged, submitted = archives
    parts = [
        preferences_from_rankings(place, text_lines(place, content))
        for name, content in members(judged, _is_ranking)
        for place in [f"{judged}: {name}"]
    ]
    if not parts:
        raise AdequaError(f"{judged} holds no CSV file of rankings.")
    together = _joined(parts)
    chosen = [row for row, pair in enumerate(together.ids["lp"]) if pair in entry.pairs]
    if not chosen:
        raise AdequaError(f"{judged} holds no ranking of {', '.join(entry.pairs)}.")
    usable = together.select(chosen)
    rows = FileRows(np.arange(len(chosen)), len(chosen), together.file_rows.unused)
    alone = Preferences(usable.ids, ties=usable.ties, file_rows=rows)
    return with_texts(str(judged), alone, _submitted(submitted, entry.pairs))


def _is_ranking(name: str) -> bool:
    """A file of one pair each, or of all; the 2016 archive also has all of them a second time."""
    base = _base(name)
    return base.endswith(".csv") and ".all." not in base and "collapsed" not in base


def _joined(parts: Sequence[Preferences]) -> Preferences:
    """The preferences of several files as one, with all their ties and unused rows."""
    names = set.intersection(*(set(part.ids) for part in parts))
    ties: Counter[tuple[str, str, str]] = Counter()
    unused: Counter[str] = Counter()
    for part in parts:
        ties.update(part.ties)
        unused.update(part.file_rows.unused)
    ids = {
        name: tuple(chain.from_iterable(part.ids[name] for part in parts)) for name in sorted(names)
    }
    rows = np.arange(sum(map(len, parts)))
    return Preferences(ids, ties=dict(ties), file_rows=FileRows(rows, len(rows), dict(unused)))


def sick(_entry: Dataset, archives: Sequence[Path]) -> Ratings | Preferences:
    """SICK.txt: tabs, a header, and the SemEval set in the last column."""
    (archive,) = archives
    header, *rows = _one_member(archive, "SICK.txt")
    at = {name: number for number, name in enumerate(header)}
    needed = ("SemEval_set", "sentence_A", "sentence_B", "relatedness_score", "entailment_label")
    if not set(needed) <= set(at):
        raise AdequaError(f"{archive}: SICK.txt needs the columns {', '.join(needed)}.")
    whole = [row for row in rows if len(row) == len(header)]
    cells: ArchiveRows = [tuple(row[at[name]].strip() for name in needed) for row in whole]
    order = list(_SPLITS)
    cells.sort(key=lambda row: order.index(row[0]) if row[0] in order else len(order))
    with_set: ArchiveRows = [("SICK", _SPLITS.get(split, split), *rest) for split, *rest in cells]
    return _from_rows(str(archive), ("set", "split", "a", "b", "score", "label"), with_set)


def sts_benchmark(_entry: Dataset, archives: Sequence[Path]) -> Ratings | Preferences:
    """sts-train.csv and its like: genre, file, year, number, score and two sentences, by tabs."""
    (archive,) = archives
    rows: ArchiveRows = []
    for split in _SPLITS.values():
        for cells in _one_member(archive, f"sts-{split}.csv"):
            if len(cells) < 7:  # noqa: PLR2004 - as in the docstring
                raise AdequaError(
                    f"{archive}: sts-{split}.csv has a line of {counted(len(cells), 'cell')}."
                )
            genre, file, year, _, score, first, second = cells[:7]
            rows.append(("STSb", split, genre, file, year, first, second, score))
    names = ("set", "split", "genre", "file", "year", "a", "b", "score")
    return _from_rows(str(archive), names, rows)


def _one_member(archive: Path, base: str) -> list[list[str]]:
    for name, content in members(archive, lambda name: _base(name) == base):
        return [line.split("\t") for line in text_lines(f"{archive}: {name}", content)]
    raise AdequaError(f"{archive} has no {base} in it.")


def _submitted(
    archive: Path, pairs: Sequence[str], *, inside: Callable[[str], bool] | None = None
) -> dict[str, SystemOutputs]:
    """The submitted outputs of these pairs, with reference and source.

    They lie as txt/system-outputs/TESTSET/LP/FILE beside txt/references/TESTSET-csen-ref.en, and
    before 2014 as plain/... beside TESTSET-ref.en, one for all pairs.
    """
    texts: dict[tuple[str, str, str], list[str]] = {}  # by test set, pair or language, and part
    outputs: list[tuple[str, str, str, list[str]]] = []
    for name, content in members(archive, _is_submitted, inside=inside):
        if match := _TEXT.search(name):
            test_set, source, target, part, language = match.groups()
            about = language if source is None else f"{source}-{target}"
            texts[test_set, about, part] = text_lines(name, content)
        elif (match := _OUTPUT.search(name)) and match[2] in pairs:
            outputs.append((match[1], match[2], _base(name), text_lines(name, content)))
    files = [(f"{pair}/{base}.txt", lines) for _, pair, base, lines in outputs]
    for test_set, pair in sorted({(test_set, pair) for test_set, pair, *_ in outputs}):
        source, target = pair.split("-")
        for part, language, called in (("ref", target, "reference"), ("src", source, "source")):
            lines = texts.get((test_set, pair, part), texts.get((test_set, language, part)))
            if lines is not None:
                texts_or_empty = ["" if line.strip() == _NO_REFERENCE else line for line in lines]
                files.append((f"{pair}/{called}.txt", texts_or_empty))
    return outputs_by_pair(files)


def _is_submitted(name: str) -> bool:
    return bool(_OUTPUT.search(name) or _TEXT.search(name))


def _base(name: str) -> str:
    return PurePosixPath(name).name


def _from_rows(place: str, names: Sequence[str], rows: ArchiveRows) -> Ratings | Preferences:
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return judgements_of(place, dict(zip(names, columns, strict=True)))


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("wmt15-da", "wmt16-da"), parallel_files),
    "wmt17-da": segment_scores,
    **dict.fromkeys((f"wmt{year}-rr" for year in range(12, 17)), rankings),
    "sick": sick,
    "stsb": sts_benchmark,
}
