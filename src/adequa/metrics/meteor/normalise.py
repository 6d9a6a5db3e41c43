"""Text to words as Meteor 1.5 does it: English punctuation and abbreviations, then lower case.

The four ways carry the names that Meteor writes into its evaluation ids: `norm` (its flag
`-norm`, which its authors recommend and the WMT metrics tasks use), `norm_nopunct` (`-norm
-noPunct`), `lc_only` (`-lower`) and `no_norm` (no flag, for text that is tokenized already).

The rules apply in sequence and each sees what the one before left, so their order is part of the
definition. Character classes are spelled out where Python and Java differ in what a digit, a
small letter or a space is.
"""

from __future__ import annotations

import re
from typing import Final

NORMALISATIONS: Final = ("norm", "norm_nopunct", "lc_only", "no_norm")

# Latin with its accented letters up to ž, Cyrillic with its supplements, phonetic extensions.
_ALPHA: Final = "A-Za-zÀ-ÖØ-öø-ž\u0400-\u0527\ua640-\ua66e\ua67e-\ua697\u1d00-\u1d7f"
_ALNUM: Final = "0-9" + _ALPHA

_SYMBOL = re.compile(rf"([^{_ALNUM} \t\n\x0b\f\r.'`,\-‘’])")
_DOTS = re.compile(r"(\.\.+)")
# A comma stands alone unless it is between two digits.
_COMMAS = (
    re.compile(r"([^0-9]),([^0-9])"),
    re.compile(r"([0-9]),([^0-9])"),
    re.compile(r"([^0-9]),([0-9])"),
)
_SINGLE_QUOTES: Final = str.maketrans("`‘’", "'''")
_DOUBLE_QUOTE = re.compile(r"[“”]|''")
_HYPHEN = re.compile(rf"([{_ALNUM}.])-([{_ALNUM}])")
# An apostrophe stands alone beside a non-letter; between letters it opens the second part: can 't.
_APOSTROPHES = (
    (re.compile(rf"([^{_ALPHA}])'([^{_ALPHA}])"), r"\1 ' \2"),
    (re.compile(rf"([^{_ALPHA}0-9])'([{_ALPHA}])"), r"\1 ' \2"),
    (re.compile(rf"([{_ALPHA}])'([^{_ALPHA}])"), r"\1 ' \2"),
    (re.compile(rf"([{_ALPHA}])'([{_ALPHA}])"), r"\1 '\2"),
    (re.compile(r"([0-9])'(s)"), r"\1 '\2"),
)
_LETTER = re.compile(f"[{_ALPHA}]")
_SMALL_LETTER = re.compile("[a-z]")
_DIGIT = re.compile("[0-9]")
_NOT_ALNUM = re.compile(f"[^{_ALNUM}]")
_WIDE_SPACES = re.compile("[\u2000-\u200a\u202f\u205f\u3000\u00a0]")
_BREAK = re.compile("[ \t\n\r\f]+")  # the only characters that end a word
_MARGIN: Final = "".join(map(chr, range(33)))  # what Java trims: every control character too

# Abbreviations whose full stop does not end a sentence, and those for which that holds only
# before a number ("No. 5").
_WRITTEN: Final = (
    "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Adj Adm Adv Asst Bart Bldg Brig Bros Capt "
    "Cmdr Col Comdr Con Corp Cpl DR Dr Drs Ens Gen Gov Hon Hr Hosp Insp Lt MM MR MRS MS Maj Messrs "
    "Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St "
    "Supt Surg v vs i.e rev e.g Nos Nr"
)
_ABBREVIATIONS: Final = frozenset(_WRITTEN.split())
_ABBREVIATIONS_BEFORE_NUMBERS: Final = frozenset(("No", "Art", "pp"))


def words_of(text: str, normalisation: str) -> list[str]:
    """The words that Meteor compares.

    >>> words_of("Mr. Smith's U.S. well-known dog (aged 1,000) barked...", "norm")
    ['mr.', 'smith', "'s", 'us', 'well', 'known', 'dog', '(', 'aged', '1,000', ')', 'barked', '...']
    >>> words_of("It's here.", "norm_nopunct")
    ['it', 's', 'here']
    >>> words_of("It's here.", "lc_only")
    ["it's", 'here.']
    """
    if normalisation.startswith("norm"):
        text = _normalised(text, keep_punctuation=normalisation == "norm")
    if normalisation != "no_norm":
        text = text.lower()
    return [word for word in _BREAK.split(text) if word]


def _normalised(text: str, *, keep_punctuation: bool) -> str:
    words = [word for word in _BREAK.split(_separated(text)) if word]
    text = " ".join(_full_stops_separated(words))
    if not keep_punctuation:
        text = _NOT_ALNUM.sub(" ", text)
    return _WIDE_SPACES.sub(" ", text).strip(_MARGIN)


def _separated(text: str) -> str:
    """Spaces around every symbol but the full stop. Most rules are skipped for want of a symbol."""
    text = _SYMBOL.sub(r" \1 ", f" {text} ")
    if ".." in text:
        text = _DOTS.sub(r" \1 ", text)
    if "," in text:
        for comma in _COMMAS:
            text = comma.sub(r"\1 , \2", text)
    text = text.translate(_SINGLE_QUOTES)
    text = _DOUBLE_QUOTE.sub(' " ', text)
    if "-" in text or "–" in text:
        text = text.replace("–", "-").replace("--", "-")
        text = _HYPHEN.sub(r"\1 \2", text)
    if "'" in text:
        for apostrophe, replacement in _APOSTROPHES:
            text = apostrophe.sub(replacement, text)
    return text


def _full_stops_separated(words: list[str]) -> list[str]:
    """Full stops become words where they end sentences and go where they are part of acronyms."""
    separated = []
    for word, following in zip(words, [*words, ""][1:], strict=True):
        stem = word[:-1]
        if not stem or word[-1] != "." or not stem.strip("."):
            separated.append(word)  # no final full stop, or nothing but full stops
        elif "." in stem and _LETTER.search(stem):
            separated.append(word.replace(".", ""))
        elif (
            stem in _ABBREVIATIONS
            or _SMALL_LETTER.match(following)
            or (stem in _ABBREVIATIONS_BEFORE_NUMBERS and _DIGIT.match(following))
        ):
            separated.append(word)
        else:
            separated += (stem, ".")
    return separated
