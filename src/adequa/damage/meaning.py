"""Meaning: opposites, other quantifiers, reversed comparisons."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.antonyms import OPPOSITE
from adequa.damage.base import Context
from adequa.damage.edits import (
    Edit,
    any_of,
    by_share,
    like,
    replacements,
)
from adequa.damage.wording import begins_sentence

# Where these words mean something else: "so far", "at first", "six years old", "a good many".
_IDIOM = re.compile(
    r"\b(?:so far|far from|at (?:first|last|the end)|first of all|next to last|last (?:year|week"
    r"|month|night|time|summer|winter|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
    r"|(?:years?|months?|weeks?|days?) old|as long as|how long|in the end|by the end|a good (?:many"
    r"|deal|while)|New (?:York|Zealand|Year|Delhi|Jersey|Orleans|Mexico|England)|as well|one day"
    r"|(?:per|each|the other|to this|every) day|(?:those|these) days|short of|light of|hard to"
    r"|high school|true to|open to)\b|-(?:old|day|long|hard|end)\b",
    re.IGNORECASE,
)
_OPPOSABLE = re.compile(r"(?<![-\w])(?:(?P<article>[Aa]n?) )?(?P<word>[A-Za-z]+)(?![-\w])")


@by_share
def antonym_swapped(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Words become their opposites: "increased" -> "decreased", "safe" -> "dangerous"."""
    idioms = [match.span() for match in _IDIOM.finditer(text)]
    return [
        Edit(*match.span(), _opposite(match))
        for match in _OPPOSABLE.finditer(text)
        if match["word"].lower() in OPPOSITE
        and not any(start <= match.start("word") < end for start, end in idioms)
        and (match["word"].islower() or begins_sentence(text, match.start("word")))
    ]


def _opposite(match: re.Match[str]) -> str:
    """The opposite of a word, with the article that fits it."""
    new = like(match["word"], OPPOSITE[match["word"].lower()])
    if match["article"] is None:
        return new
    return f"{like(match['article'], 'an' if new[0] in 'aeiou' else 'a')} {new}"


_QUANTIFIERS = {
    "all of the": ("some of the", "none of the"), "all the": ("some of the", "none of the"),
    "all": ("some", "few"), "some of": ("all of", "none of"), "some": ("all", "no"),
    "none of": ("all of", "most of"), "every": ("hardly any",), "each": ("hardly any",),
    "most of": ("few of", "none of"), "most": ("few",), "many of": ("few of", "none of"),
    "many": ("few", "no"), "few": ("many", "all"), "a few": ("many", "countless"),
    "a lot of": ("hardly any",), "lots of": ("hardly any",), "several": ("no", "countless"),
    "always": ("sometimes", "rarely"), "often": ("rarely",), "usually": ("rarely",),
    "sometimes": ("always",), "rarely": ("often", "always"), "everyone": ("hardly anyone",),
    "everybody": ("hardly anybody",), "everything": ("hardly anything",),
    "completely": ("partly",), "fully": ("partly",), "mostly": ("rarely",), "partly": ("fully",),
    "numerous": ("few",),
}  # fmt: skip
_QUANTIFIER = re.compile(
    r"(?<!\bat )(?<!\bafter )(?<!\babove )(?<!\bof )(?<!\bthe )(?<!\bnot )(?<!\bhow )(?<!\bso )"
    r"(?<!\bquite )(?<!\ba )(?<!\bthem )(?<!\bus )(?<!\btoo )(?<!\bas )(?<!\bvery )(?<!\bin )"
    r"(?<!\bwe )(?<!\bthey )(?<!\byou )(?<![-\w])"
    rf"(?:{any_of(_QUANTIFIERS)})"
    r"(?![-\w'’])(?! (?:over|along|at once|kinds? of|sorts? of|other|time|right|but|in all|too"
    r"|likely|certainly|probably|important(?:ly)?|recent(?:ly)?|of (?:it|this|that|a sudden)"
    r"|about|any\w+|I|you|we|he|she|it|they|this|that|those|these|day|night|year|week)\b)",
    re.IGNORECASE,
)


@by_share
def quantifier_swapped(text: str, random: Random, _context: Context) -> list[Edit]:
    """All becomes some, most few, always rarely: another share of things is spoken of."""
    return replacements(
        text,
        _QUANTIFIER,
        lambda match: like(match[0], random.choice(_QUANTIFIERS[match[0].lower()])),
    )


_COMPARISONS = (
    ("more than", "less than"), ("more", "less"), ("most", "least"), ("before", "after"),
    ("above", "below"), ("higher", "lower"), ("larger", "smaller"), ("better", "worse"),
    ("best", "worst"), ("earlier", "later"), ("at least", "at most"), ("greater", "lesser"),
    ("increasingly", "decreasingly"), ("over", "under"), ("until", "since"), ("longer", "shorter"),
    ("older", "younger"), ("minimum", "maximum"), ("ahead of", "behind"), ("exceeded", "undercut"),
    ("up to", "at least"),
)  # fmt: skip
_REVERSED: dict[str, str] = {}
for _one, _other in _COMPARISONS:
    _REVERSED.setdefault(_one, _other)
    _REVERSED.setdefault(_other, _one)
_COMPARISON = re.compile(
    r"(?<!\bonce )(?<!\bup )(?<!\bever )(?<!['’]s )(?<!\bno )(?<!\bany )"
    r"(?<!\bsooner or )(?<![-\w])"
    rf"(?:over(?= \$?\d)|under(?= \$?\d)"
    rf"|{any_of(word for word in _REVERSED if word not in {'over', 'under', 'least'})})"
    r"(?![-\w])(?! all\b| or less\b| and more\b| of (?:the|all)\b)",
    re.IGNORECASE,
)


@by_share
def comparison_reversed(text: str, _random: Random, _context: Context) -> list[Edit]:
    """More becomes less, before after, higher lower, at least at most."""
    return replacements(
        text,
        _COMPARISON,
        lambda match: (
            like(match[0], _REVERSED[match[0].lower()])
            if match[0].islower() or begins_sentence(text, match.start())
            else None
        ),
    )
