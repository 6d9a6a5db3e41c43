"""Outputs of whole systems: plain text line by line with the reference and the source.

They lie as LP/SYSTEM.txt beside LP/reference.txt and LP/source.txt, in a folder or an archive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from adequa.errors import AdequaError
from adequa.io.language_pairs import language_pair
from adequa.io.text import FilePath, lines, uncompressed_name
from adequa.io.usable_rows import kept_rows
from adequa.judgements import Kept, Preferences
from adequa.segments import Segments

Texts: TypeAlias = tuple[str, ...]  # line by line

_TEST_SET = re.compile(r"^news[a-z]*\d{4}\.")


@dataclass(frozen=True, slots=True)
class SystemOutputs:
    """What the systems of one language pair wrote, line by line with the reference."""

    reference: Texts
    source: Texts | None
    systems: Mapping[str, Texts]

    def of(self, system: str, pair: str) -> Texts | None:
        """The output of a system, however much of a file name it is called by.

        Of several systems that wrote the same, `A+B`, any will do.
        """
        for name in (system, *system.split("+")):
            for form in (name, bare_name(name, pair)):
                if form in self.systems:
                    return self.systems[form]
        return None


def bare_name(system: str, pair: str) -> str:
    """A system's name without the test set, the language pair and the suffix of its file.

    >>> bare_name("newstest2016.uedin-nmt.4361.cs-en", "cs-en")
    'uedin-nmt.4361'
    >>> bare_name("newstest2013.cs-en.JHU.2903.txt", "cs-en")
    'JHU.2903'
    """
    name = _TEST_SET.sub("", system.removesuffix(".txt"))
    return name.removeprefix(f"{pair}.").removesuffix(f".{pair}")


def read_system_outputs(folder: FilePath) -> dict[str, SystemOutputs]:
    """The outputs in a folder, by language pair."""
    if not Path(folder).is_dir():
        raise AdequaError(f"There is no folder {folder} with outputs of systems.")
    paths = sorted(Path(folder).glob("*/*.txt*"))
    return outputs_by_pair((f"{p.parent.name}/{uncompressed_name(p)}", lines(p)) for p in paths)


def outputs_by_pair(files: Iterable[tuple[str, Iterable[str]]]) -> dict[str, SystemOutputs]:
    """Outputs from the lines of files that are named as LP/SYSTEM.txt."""
    by_pair: dict[str, dict[str, Texts]] = {}
    for name, texts in files:
        path = PurePosixPath(name)
        pair = language_pair(path.parent.name)
        by_pair.setdefault(pair, {})[path.name.removesuffix(".txt")] = tuple(texts)
    return {pair: _outputs(pair, texts) for pair, texts in by_pair.items()}


def _outputs(pair: str, texts: dict[str, Texts]) -> SystemOutputs:
    if "reference" not in texts:
        raise AdequaError(f"Outputs of systems for {pair} lack the file {pair}/reference.txt.")
    reference = texts["reference"]
    for name, found in texts.items():
        if len(found) != len(reference):
            raise AdequaError(
                f"{pair}/{name}.txt has {len(found)} lines, but {pair}/reference.txt has "
                f"{len(reference)}."
            )
    systems = {name: found for name, found in texts.items() if name not in {"reference", "source"}}
    return SystemOutputs(
        reference=reference,
        source=texts.get("source"),
        systems={bare_name(name, pair): found for name, found in systems.items()} | systems,
    )


def segments_of(outputs: Mapping[str, SystemOutputs], rated: Iterable[tuple[str, str]]) -> Segments:
    """Every line of these systems, (language pair, system), with the ids lp, system, segment."""
    hypotheses: list[Sequence[str]] = []
    references: list[Sequence[str]] = []
    sources: list[Sequence[str]] = []
    ids: list[tuple[str, str, str]] = []
    for pair, system in rated:
        found = outputs[pair].of(system, pair) if pair in outputs else None
        if found is None:
            raise AdequaError(f'There is no output of system "{system}" for {pair}.')
        hypotheses.append(found)
        references.append(outputs[pair].reference)
        sources.append(outputs[pair].source or ("",) * len(found))
        ids += [(pair, system, str(number)) for number in range(1, len(found) + 1)]
    columns = zip(*ids, strict=True)
    return Segments(
        hypotheses=tuple(chain.from_iterable(hypotheses)),
        references=tuple(zip(chain.from_iterable(references))),
        sources=tuple(chain.from_iterable(sources)),
        ids=dict(zip(("lp", "system", "segment"), columns, strict=True)),
    )


def with_texts(
    name: str, preferences: Preferences, outputs: Mapping[str, SystemOutputs]
) -> Preferences:
    """The same preferences with the texts that they are about; those without are counted."""
    ids = preferences.ids
    about = list(zip(ids["lp"], map(_number, ids["segment"]), strict=True))

    def texts_of(part: Callable[[int, SystemOutputs, str], Texts | None]) -> list[str | None]:
        return [
            _line(part(row, outputs[pair], pair), number) if pair in outputs else None
            for row, (pair, number) in enumerate(about)
        ]

    better = texts_of(lambda row, found, pair: found.of(ids["better_system"][row], pair))
    worse = texts_of(lambda row, found, pair: found.of(ids["worse_system"][row], pair))
    references = texts_of(lambda _row, found, _pair: found.reference)
    sources = texts_of(lambda _row, found, _pair: found.source)
    problems = {
        "no output of the better system": [text is None for text in better],
        "no output of the worse system": [text is None for text in worse],
        "no reference text": [not (text and text.strip()) for text in references],
    }
    kept = kept_rows(name, problems, len(about))

    def chosen(texts: Sequence[str | None]) -> Texts:
        return tuple(texts[row] or "" for row in kept.rows.tolist())

    cells, known = tuple(zip(chosen(references))), chosen(sources)
    before = preferences.kept
    return Preferences(
        ids=preferences.select(kept.rows).ids,
        better=Segments(chosen(better), cells, known if any(known) else None),
        worse=Segments(chosen(worse), cells, known if any(known) else None),
        ties=preferences.ties,
        kept=Kept(before.rows[kept.rows], before.row_count, {**before.unused, **kept.unused}),
    )


def _number(segment: str) -> int:
    """The number of a line, counted from 1; 0 where it is none."""
    return int(segment) if segment.isdecimal() else 0


def _line(texts: Texts | None, number: int) -> str | None:
    return texts[number - 1] if texts is not None and 0 < number <= len(texts) else None
