"""The official synonym and paraphrase tables: where they are, and what they hold.

The tables are not part of this project. They come inside the PyPI package `pycocoevalcap`, in one
folder: `meteor-1.5.jar`, a zip archive with WordNet's synsets among its entries, and
`data/paraphrase-en.gz`. The package is located without importing it.

Synonyms are words that share a synset of WordNet (Denkowski and Lavie 2011). A word belongs to the
synsets of its own entry and to those of its base form. Base forms come from WordNet's exception
lists, or else from the first rule of detachment that yields a word of WordNet.

Paraphrases are five million pairs of phrases (Denkowski and Lavie 2010), held as two columns of
64-bit hashes, about 50 MB, which take some seconds to read once a process; the phrases themselves
would take gigabytes. Two of its 2.6 million phrases collide with a probability below 10^-6. A batch
of texts looks up once the pairs whose two phrases both occur in it, and gets a small dictionary to
align its segments with.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias
from zipfile import BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError

JAR: Final = "meteor-1.5.jar"
PARAPHRASES: Final = "data/paraphrase-en.gz"
EXCEPTIONS_ENTRY: Final = "synonym/english.exceptions"
SYNSETS_ENTRY: Final = "synonym/english.synsets"


def table_file(folder: str, name: str) -> Path:
    """The path of a table in this folder, or in the installed package where it is empty."""
    if folder:
        path = Path(folder).expanduser() / name
        if path.is_file():
            return path
        raise AdequaError(
            f"METEOR's table {name} is not in {folder}; set tables to the folder that holds {JAR} "
            f"and {PARAPHRASES}."
        )
    spec = find_spec("pycocoevalcap")
    for package in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(package, "meteor", name)
        if path.is_file():
            return path
    raise AdequaError(
        f"METEOR's synonym and paraphrase modules need the official table {name}; run "
        "`pip install --no-deps pycocoevalcap`, or set tables to the folder that holds it."
    )


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what a damaged table raises into a sentence."""
    try:
        yield
    except (OSError, EOFError, KeyError, ValueError, zlib.error, BadZipFile) as error:
        raise AdequaError(
            f"METEOR's table {path} cannot be read ({error}); fetch it again."
        ) from error


@lru_cache
def synonym_digest(jar: Path) -> str:
    """Eight hexadecimal digits that change with the tables, from the archive's checksums."""
    with readable(jar), ZipFile(jar) as archive:
        checksums = [archive.getinfo(name).CRC for name in (EXCEPTIONS_ENTRY, SYNSETS_ENTRY)]
    return f"{zlib.crc32(repr(checksums).encode()):08x}"


@lru_cache
def paraphrase_digest(path: Path) -> str:
    """The checksum of the uncompressed table, which stands in the last eight bytes of the file."""
    with readable(path), path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            raise gzip.BadGzipFile("not a gzipped file")
        file.seek(-8, 2)
        return f"{int.from_bytes(file.read(4), 'little'):08x}"


# Suffix and replacement, in the order in which Meteor tries them.
_DETACHMENT: Final = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)
_SHORTEST: Final = 3  # shorter words keep their suffixes
_CACHED_WORDS: Final = 1 << 16
_CACHED_LENGTH: Final = 64  # characters; longer words are no words of WordNet's


class Synonyms:
    """WordNet's synsets by word; the last words are cached."""

    def __init__(self, bases: dict[str, list[str]], synsets: dict[str, str]) -> None:
        self._bases = bases
        self._synsets = synsets
        self._cached_synsets = lru_cache(_CACHED_WORDS)(self._look_up)

    def synsets_of(self, word: str) -> tuple[str, ...]:
        """The ids of the synsets of a word and of its base forms."""
        return self._look_up(word) if len(word) > _CACHED_LENGTH else self._cached_synsets(word)

    def _look_up(self, word: str) -> tuple[str, ...]:
        ids = self._synsets.get(word, "").split()
        for base in self._bases.get(word) or (self._detached(word),):
            ids += self._synsets.get(base, "").split()
        return tuple(dict.fromkeys(ids))

    def _detached(self, word: str) -> str:
        if len(word) < _SHORTEST or word.endswith("ss"):
            return word
        for suffix, replacement in _DETACHMENT:
            if word.endswith(suffix):
                base = word.removesuffix(suffix) + replacement
                if base in self._synsets:
                    return base
        return ""


@lru_cache(maxsize=1)
def load_synonyms(jar: Path) -> Synonyms:
    """Read both tables from the archive: lines in pairs, a key and what belongs to it."""
    with readable(jar), ZipFile(jar) as archive:
        exceptions = archive.read(EXCEPTIONS_ENTRY).decode().split("\n")
        synsets = archive.read(SYNSETS_ENTRY).decode().split("\n")
    bases: dict[str, list[str]] = {}
    for base, forms in zip(exceptions[::2], exceptions[1::2], strict=False):
        for form in forms.split():
            bases.setdefault(form, []).append(base)
    return Synonyms(bases, dict(zip(synsets[::2], synsets[1::2], strict=False)))


LONGEST_PHRASE: Final = 7  # words, in the official table
_LINES_A_PAIR: Final = 3  # probability, phrase, paraphrase
_BLOCK: Final = 1 << 17  # compressed bytes: what they hold stays in the processor's cache
_SIEVE: Final = (1 << 22) - 1

Hashes: TypeAlias = npt.NDArray[np.int64]
Pairs: TypeAlias = dict[int, dict[int, int]]


phrase_hash = hash  # of a phrase's bytes, its words joined by single spaces


@dataclass(frozen=True, slots=True, eq=False)
class Paraphrases:
    """Pairs in table order, as runs of rows that share their phrase.

    `phrases` is sorted; run r of `starts` and `stops` belongs to phrase r, and its rows of
    `paraphrases` are the other side of the pairs.
    """

    phrases: Hashes
    starts: Hashes
    stops: Hashes
    paraphrases: Hashes

    def among(self, occurring: Set[int]) -> Pairs:
        """The paraphrases of each phrase, where both occur, with their rank in the table."""
        present = np.sort(np.fromiter(occurring, np.int64, len(occurring)))
        first = np.searchsorted(self.phrases, present, "left")
        last = np.searchsorted(self.phrases, present, "right")
        runs = _ranges(first, last)
        starts, stops = self.starts[runs], self.stops[runs]
        phrases = np.repeat(self.phrases[runs], stops - starts)
        paraphrases = self.paraphrases[_ranges(starts, stops)]
        # Most rows drop out here, at a fraction of the price of a search in `present`.
        sieve = np.zeros(_SIEVE + 1, bool)
        sieve[present & _SIEVE] = True
        rows = np.flatnonzero(sieve[paraphrases & _SIEVE])
        index = np.searchsorted(present, paraphrases[rows]).clip(max=len(present) - 1)
        rows = rows[present[index] == paraphrases[rows]]
        pairs: Pairs = {}
        for rank, (phrase, paraphrase) in enumerate(
            zip(phrases[rows].tolist(), paraphrases[rows].tolist(), strict=True)
        ):
            pairs.setdefault(phrase, {})[paraphrase] = rank
        return pairs


@lru_cache(maxsize=1)
def load_paraphrases(path: Path) -> Paraphrases:
    """Read the table: three lines a pair, the pairs of a phrase one after the other."""
    with readable(path):
        columns = np.concatenate([np.empty((2, 0), np.int64), *_hashed_pairs(path)], axis=1)
    phrases, paraphrases = columns
    starts = np.flatnonzero(np.diff(phrases, prepend=~phrases[:1]))
    stops = np.append(starts[1:], len(phrases))
    order = np.argsort(phrases[starts], kind="stable")
    return Paraphrases(phrases[starts][order], starts[order], stops[order], paraphrases)


def _hashed_pairs(path: Path) -> Iterator[Hashes]:
    """Both columns, a block at a time, because the text of the whole table would fill memory."""
    inflater = zlib.decompressobj(wbits=31)
    rest = b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            lines = (rest + inflater.decompress(block)).split(b"\n")
            pairs = (len(lines) - 1) // _LINES_A_PAIR
            whole = pairs * _LINES_A_PAIR
            yield np.array(
                [
                    np.fromiter(map(phrase_hash, lines[side:whole:_LINES_A_PAIR]), np.int64, pairs)
                    for side in (1, 2)
                ]
            )
            rest = b"\n".join(lines[whole:])
    if rest or not inflater.eof:
        raise EOFError("the file ends early")


def _ranges(starts: Hashes, stops: Hashes) -> Hashes:
    """All numbers from each start up to its stop, one range after the other.

    >>> _ranges(np.array([4, 9]), np.array([6, 10])).tolist()
    [4, 5, 9]
    """
    lengths = stops - starts
    offsets = np.repeat(stops - np.cumsum(lengths), lengths)
    return offsets + np.arange(lengths.sum())
