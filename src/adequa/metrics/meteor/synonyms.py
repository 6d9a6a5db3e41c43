"""Which words are synonyms: those that share a synset of WordNet (Denkowski and Lavie 2011).

A word belongs to the synsets of its own entry and to those of its base form. Base forms come from
WordNet's exception lists, or else from the first rule of detachment that yields a known word.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final
from weakref import WeakSet
from zipfile import ZipFile

from adequa.metrics.meteor.tables import EXCEPTIONS_ENTRY, SYNSETS_ENTRY, readable

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
_REMEMBERED: Final = 1 << 16  # words


class Synonyms:
    """WordNet's synsets by word; a word is resolved when it is asked for, and remembered."""

    def __init__(self, bases: dict[str, list[str]], synsets: dict[str, str]) -> None:
        self._bases = bases
        self._synsets = synsets
        self.synsets_of = lru_cache(_REMEMBERED)(self._synsets_of)
        _MADE.add(self)

    @staticmethod
    def forget() -> None:
        """Forget the words that were asked for, of all tables."""
        for made in _MADE:
            made.synsets_of.cache_clear()

    def _synsets_of(self, word: str) -> tuple[str, ...]:
        """The ids of the synsets of a word and of its base forms."""
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


_MADE: WeakSet[Synonyms] = WeakSet()


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
