"""WMT files: sources, references and hypotheses marked up by document and segment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from adequa.errors import AdequaError
from adequa.io.lockstep import Key, Track, describe, lockstep
from adequa.io.tables import Wanted
from adequa.io.text import Advance, FilePath, shown, text_format
from adequa.segments import Segments

Part: TypeAlias = Literal["sources", "references", "hypotheses"]

SUFFIXES = (".sgm", ".sgml", ".xml")
_IDS = ("system", "doc")


class MarkedText(NamedTuple):
    """One segment's text as it stands in a file."""

    part: Part
    by: str  # the system or the translator; empty where the file does not say
    key: Key
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class MarkedUp:
    """A WMT file: the segments in order, and who says what for each."""

    name: str
    keys: tuple[Key, ...]
    texts: Mapping[Part, Mapping[str, Mapping[Key, str]]]

    def source_track(self) -> Track[str]:
        """The source of every segment."""
        (sources,) = self._of("sources").values()
        self._refuse_gap(sources, "The source")
        return Track(self.name, map(sources.__getitem__, self.keys), self.keys)

    def reference_track(self) -> Track[tuple[str, ...]]:
        """The references of every segment, by as many translators as have one for it."""
        translators = self._of("references").values()
        cells = tuple(
            tuple(texts[key] for texts in translators if texts.get(key)) for key in self.keys
        )
        for key, references in zip(self.keys, cells, strict=True):
            if not references:
                raise AdequaError(f"{self.name}, {describe(key)} has no reference.")
        return Track(self.name, iter(cells), self.keys)

    def system_tracks(self) -> dict[str, Track[str]]:
        """The hypotheses of every system in the file, by its name there."""
        systems = self._of("hypotheses")
        for system, texts in systems.items():
            self._refuse_gap(texts, f'System "{system}"' if system else "The system")
        return {
            system: Track(self.name, map(texts.__getitem__, self.keys), self.keys)
            for system, texts in systems.items()
        }

    def _of(self, part: Part) -> Mapping[str, Mapping[Key, str]]:
        if part not in self.texts:
            raise AdequaError(
                f"{self.name} holds no {part}, only {' and '.join(self.texts) or 'mark-up'}."
            )
        return self.texts[part]

    def _refuse_gap(self, texts: Mapping[Key, str], who: str) -> None:
        for key in self.keys:
            if key not in texts:
                raise AdequaError(f"{who} in {self.name} lacks {describe(key)}.")


def is_marked_up(path: FilePath) -> bool:
    """Whether a file's suffix says that it is WMT mark-up."""
    return text_format(path) in SUFFIXES


def read_marked_up(path: FilePath, *, advance: Advance) -> MarkedUp:
    """A WMT file as a whole: such files hold a test set, whose parts may come in any order."""
    if text_format(path) == ".xml":
        from adequa.io.wmt_xml import marked_texts  # noqa: PLC0415  # only where needed
    else:
        from adequa.io.wmt_sgm import marked_texts  # noqa: PLC0415
    return _collected(shown(path), marked_texts(path, advance=advance))


def read_wmt(path: FilePath, wanted: Wanted) -> Iterator[Segments]:
    """Every system of a file that holds hypotheses and references, and sources where it has."""
    name = shown(path)
    if wanted.columns:
        raise AdequaError(f"{name} has no columns to choose from: leave --column out.")
    for id_name in wanted.keep_ids:
        if id_name not in _IDS:
            raise AdequaError(f'{name} has no "{id_name}". It has: {", ".join(_IDS)}.')
    marked_up = read_marked_up(path, advance=wanted.advance)
    yield from lockstep(
        marked_up.system_tracks(),
        [marked_up.reference_track()],
        marked_up.source_track() if "sources" in marked_up.texts else None,
        batch=wanted.batch,
    )


def _collected(name: str, marked_texts: Iterable[MarkedText]) -> MarkedUp:
    keys: dict[Key, None] = {}
    parts: dict[Part, dict[str, dict[Key, str]]] = {}
    for part, by, key, text, line in marked_texts:
        texts = parts.setdefault(part, {}).setdefault(by, {})
        if key in texts:
            whose = f' of "{by}"' if by else ""
            raise AdequaError(f"{name}, line {line}: {describe(key)}{whose} is here a second time.")
        keys[key] = None
        texts[key] = text
    if not keys:
        raise AdequaError(
            f"{name} holds no segments: .xml files have them in <src>, <ref> and <hyp>, "
            ".sgm files in <srcset>, <refset> and <tstset>."
        )
    return MarkedUp(name, tuple(keys), parts)
