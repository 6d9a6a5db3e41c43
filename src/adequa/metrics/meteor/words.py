"""Text to words, and words to stems, as Meteor 1.5 does it.

Words: English punctuation and abbreviations, then lower case. The four ways carry the names that
Meteor writes into its evaluation ids: `norm` (its flag `-norm`, which its authors recommend and the
WMT metrics tasks use), `norm_nopunct` (`-norm -noPunct`), `lc_only` (`-lower`) and `no_norm` (no
flag, for text that is tokenized already). The rules apply in sequence and each sees what the one
before left, so their order is part of the definition. Character classes are spelled out where
Python and Java differ in what a digit, a small letter or a space is.

Stems: the English Snowball stemmer (Porter2) as it stood in Meteor 1.5. Written out here because
the `snowballstemmer` package follows the algorithm's later revisions: its version 3 stems "added",
"evening", "emergency" and a hundred other words of the WMT data otherwise. The steps and regions
carry the names of the algorithm's description (snowballstem.org, "The English (Porter2) stemming
algorithm").
"""

from __future__ import annotations

import re
from functools import lru_cache
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


_VOWELS: Final = frozenset("aeiouy")
_EXCEPTIONS: Final = {
    "skis": "ski",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "idly": "idl",
    "gently": "gentl",
    "ugly": "ugli",
    "early": "earli",
    "only": "onli",
    "singly": "singl",
} | {word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")}
_EXCEPTIONS_AFTER_1A: Final = frozenset(
    ("inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed")
)
_LONG_R1_PREFIXES: Final = ("gener", "commun", "arsen")
_DOUBLES: Final = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_LI_ENDINGS: Final = frozenset("cdeghkmnrt")
_STEP_2: Final = {
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "entli": "ent",
    "izer": "ize",
    "ization": "ize",
    "ational": "ate",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "aliti": "al",
    "alli": "al",
    "fulness": "ful",
    "ousli": "ous",
    "ousness": "ous",
    "iveness": "ive",
    "iviti": "ive",
    "biliti": "ble",
    "bli": "ble",
    "ogi": "og",
    "fulli": "ful",
    "lessli": "less",
    "li": "",
}
_STEP_3: Final = {
    "tional": "tion",
    "ational": "ate",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
    "ative": "",
}
_STEP_4_SUFFIXES: Final = (
    "al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion"
)
_STEP_4: Final = frozenset(_STEP_4_SUFFIXES.split())
_SHORTEST: Final = 3  # shorter words are their own stems


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """The stem of a word in lower case.

    >>> [stem(word) for word in ("national", "nationally", "skies", "hopping", "hoping")]
    ['nation', 'nation', 'sky', 'hop', 'hope']
    """
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    if len(word) < _SHORTEST:
        return word
    marked = _consonant_y_marked(word.removeprefix("'"))
    r1, r2 = _regions(marked)
    stemmed = _step_1a(_step_0(marked))
    if stemmed not in _EXCEPTIONS_AFTER_1A:
        stemmed = _step_1c(_step_1b(stemmed, r1))
        stemmed = _step_4(_step_3(_step_2(stemmed, r1), r1, r2), r2)
        stemmed = _step_5(stemmed, r1, r2)
    return stemmed.replace("Y", "y") if "Y" in stemmed and "y" in word else stemmed


def _consonant_y_marked(word: str) -> str:
    """Y for a y that opens the word or follows a vowel."""
    if "y" not in word:
        return word
    letters = list(word)
    for i, letter in enumerate(letters):
        if letter == "y" and (i == 0 or letters[i - 1] in _VOWELS):
            letters[i] = "Y"
    return "".join(letters)


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 begin: each after the first non-vowel that follows a vowel."""
    r1 = next((len(prefix) for prefix in _LONG_R1_PREFIXES if word.startswith(prefix)), 0)
    r1 = r1 or _after_vowel_and_consonant(word, 0)
    return r1, _after_vowel_and_consonant(word, r1)


def _after_vowel_and_consonant(word: str, begin: int) -> int:
    for i in range(begin + 1, len(word)):
        if word[i] not in _VOWELS and word[i - 1] in _VOWELS:
            return i + 1
    return len(word)


def _has_vowel(part: str) -> bool:
    return not _VOWELS.isdisjoint(part)


def _ends_in_short_syllable(word: str) -> bool:
    match len(word):
        case 0 | 1:
            return False
        case 2:
            return word[0] in _VOWELS and word[1] not in _VOWELS
        case _:
            before, vowel, after = word[-3], word[-2], word[-1]
            return (
                before not in _VOWELS
                and vowel in _VOWELS
                and after not in _VOWELS
                and after not in "wxY"
            )


def _longest_suffix(word: str, suffixes: dict[str, str] | frozenset[str], longest: int) -> str:
    for length in range(min(longest, len(word)), 1, -1):
        if word[-length:] in suffixes:
            return word[-length:]
    return ""


def _step_0(word: str) -> str:
    if "'" in word:
        for suffix in ("'s'", "'s", "'"):
            if word.endswith(suffix):
                return word[: -len(suffix)]
    return word


def _step_1a(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > len("xies") else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _has_vowel(word[:-2]):
        return word[:-1]
    return word


def _step_1b(word: str, r1: int) -> str:
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            begin = len(word) - len(suffix)
            return word[:begin] + "ee" if begin >= r1 else word
    for suffix in ("ingly", "edly", "ing", "ed"):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return _repaired(rest, r1) if _has_vowel(rest) else word
    return word


def _repaired(word: str, r1: int) -> str:
    """What is left after -ed or -ing, with its e put back or its doubled letter made single."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word.endswith(_DOUBLES):
        return word[:-1]
    if len(word) == r1 and _ends_in_short_syllable(word):
        return word + "e"
    return word


def _step_1c(word: str) -> str:
    if word[-1:] in ("y", "Y") and len(word) >= _SHORTEST and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    return word


def _step_2(word: str, r1: int) -> str:
    suffix = _longest_suffix(word, _STEP_2, 7)
    begin = len(word) - len(suffix)
    if not suffix or begin < r1:
        return word
    before = word[begin - 1 : begin]
    if (suffix == "ogi" and before != "l") or (suffix == "li" and before not in _LI_ENDINGS):
        return word
    return word[:begin] + _STEP_2[suffix]


def _step_3(word: str, r1: int, r2: int) -> str:
    suffix = _longest_suffix(word, _STEP_3, 7)
    begin = len(word) - len(suffix)
    if not suffix or begin < (r2 if suffix == "ative" else r1):
        return word
    return word[:begin] + _STEP_3[suffix]


def _step_4(word: str, r2: int) -> str:
    suffix = _longest_suffix(word, _STEP_4, 5)
    begin = len(word) - len(suffix)
    if not suffix or begin < r2 or (suffix == "ion" and word[begin - 1 : begin] not in ("s", "t")):
        return word
    return word[:begin]


def _step_5(word: str, r1: int, r2: int) -> str:
    begin = len(word) - 1
    if word.endswith("e"):
        final = begin >= r2 or (begin >= r1 and not _ends_in_short_syllable(word[:-1]))
    else:
        final = word.endswith("ll") and begin >= r2
    return word[:-1] if final else word
