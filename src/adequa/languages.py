"""Languages of translations: codes, names, pairs, and detection from text.

The target language decides how some metrics read text, and which of them mean anything at all. It
is given by the user (`-l en-de`, a column `lp`) or detected from all segments together.

Detection is a naive Bayes model over character n-grams (Cavnar and Trenkle, 1994, with
probabilities in place of ranks), in `languages.npz` (570 kB, no pickle), trained on the first half
of the Universal Declaration of Human Rights. It knows 160 languages, and 280 more that it never
answers: they are there so that a text in one of them is not taken for a relative. Libraries were
measured on the same 31 languages (docs/languages.md): langdetect and lingua lack eight to ten of
them, lingua weighs 96 MB, py3langid 4.6 MB, and all three answer five words, wrongly in
10% to 20% of cases. This one needs nothing but numpy, and says that it does not know where
evidence is thin.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, TypeAlias
from unicodedata import category, normalize
from unicodedata import name as name_of_character

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError, nearest

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
Origin: TypeAlias = Literal["given", "column", "detected", "unknown"]

# Languages that are written without spaces between words.
UNSPACED = frozenset({"bo", "dz", "ja", "km", "lo", "my", "shn", "th", "yue", "zh"})

_SIDES = 2
# Written in lower case, these are a language and a country rather than two languages.
_LOCALES = {("pt", "br"), ("zh", "tw"), ("de", "ch")}
_SEPARATOR = re.compile(r"\s*(?:-|–|_|→|->|>|:|/)\s*")
_NUMBERED_REGION = re.compile(r"\d{3}")
_SCRIPT = re.compile(r"[A-Za-z]{4}")


@dataclass(frozen=True, slots=True)
class TargetLanguage:
    """The language of translations, and how it is known.

    >>> target = parse_language("en-zh_CN")
    >>> target.code, target.name, target.pair, target.variant
    ('zh', 'Chinese', 'en-zh', 'CN')
    >>> str(UNKNOWN_LANGUAGE)
    'unknown'
    """

    code: str | None  # ISO 639-1, or 639-3 where there is none; None where it is not known
    origin: Origin
    source: str | None = None  # code of the source language, where it is known
    variant: str | None = None  # script and region as they were written, such as CN or Hant

    @property
    def name(self) -> str | None:
        """The English name of the language."""
        return None if self.code is None else language_name(self.code)

    @property
    def pair(self) -> str | None:
        """Source and target, such as en-de; the target alone where the source is not known."""
        return self.code if self.source is None else f"{self.source}-{self.code}"

    @property
    def is_unspaced(self) -> bool:
        """Whether words of this language are written without spaces between them."""
        return self.code in UNSPACED

    def __str__(self) -> str:
        return self.name or "unknown"

    def to_dict(self) -> dict[str, Any]:
        """Code, name and origin, ready for JSON; and the source where it is known."""
        content: dict[str, Any] = {"code": self.code, "name": self.name, "origin": self.origin}
        return content if self.source is None else {**content, "source": self.source}


UNKNOWN_LANGUAGE = TargetLanguage(None, "unknown")


@cache
def _names() -> dict[str, str]:
    """English names of languages by code."""
    return {code: names[0] for code, names in _languages().items()}


@cache
def _codes() -> dict[str, str]:
    """Codes by every code and name of the languages, in lower case."""
    return {name.lower(): code for code, names in _languages().items() for name in (code, *names)}


@cache
def _languages() -> dict[str, list[str]]:
    """English name, and the other codes and names, of every language by its code."""
    languages: dict[str, list[str]] = _codes_file()["languages"]
    return languages


@cache
def _countries() -> frozenset[str]:
    """Codes of ISO 3166-1."""
    return frozenset(_codes_file()["countries"].split())


@cache
def _codes_file() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    )
    return content


def language_name(code: str) -> str:
    """The English name of a language by its code; the code where it is not known.

    >>> language_name("cs"), language_name("tlh")
    ('Czech', 'tlh')
    """
    return _names().get(code, code)


def language_names() -> dict[str, str]:
    """The English names of all known languages by code, in the order of the names.

    >>> language_names()["de"]
    'German'
    """
    return dict(sorted(_names().items(), key=lambda each: each[1]))


@cache
def language_pair(text: str) -> str:
    """A language pair as `cs-en`; what is not known to be one stays as it is.

    >>> language_pair("cz-en"), language_pair("ces-eng"), language_pair("Czech-English")
    ('cs-en', 'cs-en', 'cs-en')
    >>> language_pair("de-de_AT"), language_pair("medical")
    ('de-de_AT', 'medical')
    """
    sides = [_codes().get(side.strip().lower(), "") for side in text.split("-")]
    return "-".join(sides) if len(sides) == _SIDES and all(sides) else text.strip()


def parse_language(text: str, origin: Origin = "given") -> TargetLanguage:
    """The target language of a code, a name or a pair of them, with or without a region.

    >>> [parse_language(text).pair for text in ("de", "deu", "German", "en-de", "EN_DE", "pt-BR")]
    ['de', 'de', 'de', 'en-de', 'en-de', 'pt']
    >>> parse_language("zh-Hant-TW").variant, parse_language("en_US-es_419").variant
    ('Hant-TW', '419')
    >>> parse_language("xx")
    Traceback (most recent call last):
    adequa.errors.AdequaError: "xx" is no language; write a code as de, or a pair as en-de.
    """
    target = _parsed(text, origin)
    if target is None:
        hint = nearest(text, (code for code in _codes() if len(code) > len("deu")))
        raise AdequaError(f'"{text}" is no language; write a code as de, or a pair as en-de.{hint}')
    return target


def known_language(text: str, origin: Origin) -> TargetLanguage | None:
    """As `parse_language`, but None for what is no language.

    >>> known_language("en-de", "column"), known_language("medical", "column")
    (TargetLanguage(code='de', origin='column', source='en', variant=None), None)
    """
    return _parsed(text, origin)


def _parsed(text: str, origin: Origin) -> TargetLanguage | None:
    written = text.strip()
    if written.lower() in _codes():
        return TargetLanguage(_codes()[written.lower()], origin)
    parts = _SEPARATOR.split(written)
    if all(part.isupper() or part.isdigit() for part in parts) and len(parts) == _SIDES:
        parts = [part.lower() for part in parts]  # EN-DE is a pair, as in many file names
    tags = _tags(parts)
    if tags is None or len(tags) > _SIDES:
        return None
    code, variant = tags[-1]
    return TargetLanguage(code, origin, tags[0][0] if len(tags) == _SIDES else None, variant)


def _tags(parts: Sequence[str]) -> list[tuple[str, str | None]] | None:
    """Codes of languages, each with its script and region; None where a part is neither."""
    tags: list[tuple[str, list[str]]] = []
    for part in parts:
        code = _codes().get(part.lower())
        after = tags[-1] if tags else None
        if after is not None and _is_variant(part, code, after):
            after[1].append(part)
        elif code is not None:
            tags.append((code, []))
        else:
            return None
    return [(code, "-".join(variant) or None) for code, variant in tags]


def _is_variant(part: str, code: str | None, after: tuple[str, list[str]]) -> bool:
    """Whether a part is the script or the region of the language before it."""
    language, variant = after
    if any(map(_is_region, variant)):
        return False  # nothing follows a region
    if code is None:
        return _is_region(part) or (bool(_SCRIPT.fullmatch(part)) and not variant)
    return _is_region(part) and (part.isupper() or (language, part) in _LOCALES)


def _is_region(part: str) -> bool:
    return part.upper() in _countries() or bool(_NUMBERED_REGION.fullmatch(part))


def are_related(one: str | None, other: str | None) -> bool:
    """Whether two codes may name one language: equal, of one macrolanguage, or one not known.

    >>> are_related("hr", "sh"), are_related("de", None), are_related("de", "nl")
    (True, True, False)
    """
    wider = {_MACROLANGUAGES.get(code, code) for code in (one, other) if code is not None}
    return len(wider) < _SIDES


def target_language(
    given: str | TargetLanguage | None, texts: Iterable[str], pairs: Iterable[str] = ()
) -> TargetLanguage:
    """The target language: the given one, else that of a column of pairs, else the detected one.

    `texts` are references. Where `pairs` have several target languages, an error lists them.

    >>> target_language(None, ["Hallo"], ["en-de", "en-de"])
    TargetLanguage(code='de', origin='column', source='en', variant=None)
    """
    if given is not None:
        return given if isinstance(given, TargetLanguage) else parse_language(given)
    named = {pair: known_language(pair, "column") for pair in dict.fromkeys(pairs)}
    targets = {target.code: target for target in named.values() if target is not None}
    if len(targets) > 1:
        raise several_languages(named)
    if targets and None not in named.values():
        target = next(iter(targets.values()))
        sources = {each.source for each in named.values() if each is not None}
        return target if len(sources) == 1 else replace(target, source=None)
    return detect_language(texts)


def several_languages(pairs: Iterable[str]) -> AdequaError:
    """The error where segments have several target languages, and none is chosen."""
    return AdequaError(
        f"The segments are of several language pairs: {', '.join(sorted(pairs))}. A score over "
        "several languages is no score of a system; choose one with -l."
    )


# Detection


def detect_language(texts: Iterable[str]) -> TargetLanguage:
    """The language of texts, all of them together; unknown where the evidence is thin.

    >>> detect_language(["Das Gesetz tritt am Montag in Kraft und gilt für alle Bürger, wie der "
    ...     "Sprecher der Regierung gestern sagte."]).name
    'German'
    >>> detect_language(["Das Gesetz gilt für alle."]).name is None
    True
    """
    sample = _sample(texts)
    script, letters = _main_script(sample)
    if script in {"CJK", "HIRAGANA", "KATAKANA"}:
        code = _chinese_or_japanese(letters)
    elif script == "BENGALI" and _share(sample, _ASSAMESE) > _ASSAMESE_SHARE:
        code = "as" if letters[script] >= _FEW_LETTERS else None
    else:
        code = _by_ngrams(sample, script, letters[script])
    return UNKNOWN_LANGUAGE if code is None else TargetLanguage(code, "detected")


def is_ambiguous(texts: Iterable[str]) -> bool:
    """Whether texts whose language is not known have too much in them to be taken for English.

    >>> is_ambiguous(["So it is."]), is_ambiguous(["東京都"])
    (False, True)
    """
    sample = _sample(texts)
    script, letters = _main_script(sample)
    has_letters = letters.total() > 0
    return has_letters and (script != "LATIN" or len(word_counts(sample)) >= _MANY_WORDS)


_MOST_TEXTS, _MOST_CHARACTERS = 400, 40_000  # of a sample; more would cost time and change nothing
_LONGEST_TEXT = 1000  # characters that are read of one text
_FEW_LETTERS = 10  # enough for a script that only one language has
_MANY_LETTERS, _MANY_WORDS = 60, 12  # different words; fewer of a shared script prove nothing
_MAIN_SCRIPT = 0.6  # fraction of all letters that must be of one script
_MARGIN, _RELATIVE_MARGIN = 60.0, 0.12  # nats over the second language, in all and an n-gram
# Languages with a close relative, which is nearly as likely even for much text.
_RELATED = frozenset(
    {"bs", "ca", "da", "en", "es", "gl", "hr", "mai", "nb", "nn", "pt", "sl", "sr"}
)
_RELATED_MARGIN = 0.04
# Languages for which short texts of a larger relative are easily taken.
_MINOR, _MINOR_MARGIN = frozenset({"ast", "bho", "sco"}), 0.3
_CLOSE_MARGIN = 0.06  # nats an n-gram over another language of the same macrolanguage
_HAN_LETTERS = 20  # without kana, from which on a text is Chinese and not a Japanese heading
_KANA, _NO_KANA = (
    0.05,
    0.005,
)  # fraction of kana from which on, and up to which, it is (not) Japanese
_MIXED_TEXTS = 100  # that are looked at one by one for texts of another language
_MIXED_MARGIN, _RELATIVE_MIXED_MARGIN = 20.0, 0.4  # nats by which a text is of another language
_MIXED = 0.15  # fraction of texts of one other language from which on no language is named
_ASSAMESE = "\u09f0\u09f1"  # letters that Bengali does not have
_ASSAMESE_SHARE = 0.005  # fraction of all characters


def _sample(texts: Iterable[str]) -> list[str]:
    """Texts at random, as many as are worth reading, each cut to a length; always the same."""
    listed = list(texts)
    if len(listed) > _MOST_TEXTS:  # not every nth: systems may alternate
        chooser = random.Random(len(listed))  # noqa: S311 - no secret
        listed = [listed[row] for row in sorted(chooser.sample(range(len(listed)), _MOST_TEXTS))]
    chosen = [normalize("NFC", text[:_LONGEST_TEXT]) for text in listed]
    length = sum(map(len, chosen))
    return chosen[:: max(1, -(-length // _MOST_CHARACTERS))]


def _main_script(texts: Sequence[str]) -> tuple[str, Counter[str]]:
    """The script of most letters, empty where it is not plain; and the letters of each script."""
    letters: Counter[str] = Counter()
    for character, count in Counter(chain.from_iterable(texts)).items():
        if character.isalpha():
            letters[_script(character)] += count
    japanese = sum(letters[script] for script in ("CJK", "HIRAGANA", "KATAKANA"))
    if japanese > _MAIN_SCRIPT * letters.total():
        return "CJK", letters
    script, count = max(letters.items(), key=itemgetter(1), default=("", 0))
    return (script if count > _MAIN_SCRIPT * letters.total() else ""), letters


def _script(character: str) -> str:
    """The script of a letter: the first word of its name, such as LATIN."""
    return name_of_character(character, "").partition(" ")[0]


def _share(texts: Sequence[str], characters: str) -> float:
    length = sum(map(len, texts))
    return sum(text.count(each) for text in texts for each in characters) / max(1, length)


def _chinese_or_japanese(letters: Counter[str]) -> str | None:
    """Japanese by its kana, Chinese by their absence; None where there are few of either."""
    kana = letters["HIRAGANA"] + letters["KATAKANA"]
    total = kana + letters["CJK"]
    if kana >= _KANA * total and total >= _FEW_LETTERS:
        return "ja"
    return "zh" if kana <= _NO_KANA * total and total >= _HAN_LETTERS else None


def _by_ngrams(texts: Sequence[str], script: str, letters: int) -> str | None:
    """The language of a script: the only one that has it, or the likeliest by its n-grams."""
    model = ngram_model()
    candidates = model.languages_of(script)
    if len(candidates) < 2 and script != "BENGALI":  # noqa: PLR2004 - one language alone, or none
        return next(iter(candidates), None) if letters >= _FEW_LETTERS else None
    words = word_counts(texts)
    if letters < _MANY_LETTERS or (len(words) < _MANY_WORDS and script not in _UNSPACED_SCRIPTS):
        return None
    scores, count = model.scores(words, script)
    best = model.codes[int(scores.argmax())]
    parent = _MACROLANGUAGES.get(best, best)
    languages = {best, *(code for code, other in _MACROLANGUAGES.items() if other == parent)}
    relative_margin = _MINOR_MARGIN if best in _MINOR else _RELATIVE_MARGIN
    relative_margin = _RELATED_MARGIN if best in _RELATED else relative_margin
    if model.margin(scores, languages) < max(_MARGIN, relative_margin * count):
        return None
    if len(languages) > 1 and model.margin(scores, {best}) < _CLOSE_MARGIN * count:
        best = parent  # the answer for its languages together
    return (
        None
        if best in _UNANSWERED or best not in _names() or _is_mixed(texts, scores, script)
        else best
    )


def _is_mixed(texts: Sequence[str], scores: FloatArray, script: str) -> bool:
    """Whether many texts are rather of one other language than of that of all together."""
    model = ngram_model()
    language = model.codes[int(scores.argmax())]
    own = np.array([code == language for code in model.codes])
    chosen = texts[:: max(1, -(-len(texts) // _MIXED_TEXTS))]
    others: Counter[str] = Counter()
    for text in chosen:
        likelihoods, count = model.scores(word_counts([text]), script)
        margin = likelihoods.max() - likelihoods[own].max()
        other = model.codes[int(likelihoods.argmax())]
        others[other] += margin > max(_MIXED_MARGIN, _RELATIVE_MIXED_MARGIN * count)
    return max(others.values(), default=0) > max(1, _MIXED * len(chosen))


# Languages that are told apart only by much text, by the language (ISO 639-3) that has them all.
_MACROLANGUAGES = {
    "bs": "sh", "hr": "sh", "sr": "sh",
    "nb": "no", "nn": "no",
    "id": "ms", "ms": "ms",
}  # fmt: skip
_UNANSWERED = {"sco"}  # English of an odd kind is likelier than Scots
_UNSPACED_SCRIPTS = {"TIBETAN", "MYANMAR", "KHMER", "LAO", "THAI", "TAI", "JAVANESE"}
ORDER = 4  # of the longest n-grams


@cache
def _word_pattern() -> re.Pattern[str]:
    """Letters with their marks, which regular expressions do not count as letters."""
    marks = "".join(chr(code) for code in range(0x300, 0xFFFF) if category(chr(code))[0] == "M")
    return re.compile(rf"(?:[^\W\d_]|[{marks}])+")


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs, in lower case."""
    return Counter(chain.from_iterable(_word_pattern().findall(text.lower()) for text in texts))


def ngrams(words: Mapping[str, int]) -> Counter[str]:
    """n-grams of characters of words, whose beginning and end are spaces, with their counts.

    >>> sorted(ngrams({"ab": 2}))
    [' a', ' ab', ' ab ', 'a', 'ab', 'ab ', 'b', 'b ']
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        padded = f" {word} "
        for size in range(1, ORDER + 1):
            for start in range(len(padded) - size + 1):
                counts[padded[start : start + size]] += count
    del counts[" "]
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class NgramModel:
    """Logarithms of the probabilities of the frequent n-grams of every language and script.

    The entries of an n-gram stand in a row: `starts` has the first one of each.
    """

    codes: tuple[str, ...]  # of the language of each class
    scripts: tuple[str, ...]  # of each class
    rows: dict[str, int]  # of n-grams
    starts: IntArray
    classes: IntArray  # of each entry
    gains: FloatArray  # log probability of each entry over that of an n-gram that was never seen
    floors: FloatArray  # log probability of an n-gram that was never seen, by class

    def languages_of(self, script: str) -> set[str]:
        """The languages that are written in a script."""
        pairs = zip(self.codes, self.scripts, strict=True)
        return {code for code, written in pairs if written == script}

    def scores(self, words: Mapping[str, int], script: str) -> tuple[FloatArray, int]:
        """The log likelihood of words under each class of a script, and the number of n-grams."""
        counts = {
            self.rows[gram]: count for gram, count in ngrams(words).items() if gram in self.rows
        }
        rows = np.fromiter(counts, np.intp, len(counts))
        repeats = np.fromiter(counts.values(), np.float64, len(counts))
        lengths = self.starts[rows + 1] - self.starts[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        entries = np.repeat(self.starts[rows], lengths) + within
        weights = self.gains[entries] * np.repeat(repeats, lengths)
        total = float(repeats.sum())
        scores = np.bincount(self.classes[entries], weights, len(self.codes)) + total * self.floors
        is_candidate = np.array([written == script for written in self.scripts])
        return np.where(is_candidate, scores, -np.inf), int(total)

    def margin(self, scores: FloatArray, languages: Set[str]) -> float:
        """By how much one of these languages is likelier than all others."""
        among = np.array([code in languages for code in self.codes])
        return float(scores.max(initial=-np.inf, where=among) - scores[~among].max())


@cache
def ngram_model() -> NgramModel:
    """The model that ships; `benchmarks/language_detection.py` trains it."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as arrays:
        classes = bytes(arrays["names"]).decode().split("\n")
        grams = bytes(arrays["grams"]).decode().split("\n")
        sizes = arrays["sizes"].astype(np.intp)
        floors = arrays["floors"].astype(np.float64)
        return NgramModel(
            codes=tuple(each.partition(" ")[0] for each in classes),
            scripts=tuple(each.partition(" ")[2] for each in classes),
            rows={gram: row for row, gram in enumerate(grams)},
            starts=np.concatenate([[0], np.cumsum(sizes)]),
            classes=arrays["classes"].astype(np.intp),
            gains=arrays["gains"].astype(np.float64) * GAIN_UNIT,
            floors=floors,
        )


GAIN_UNIT = 0.05  # nats: gains are stored as whole multiples of it
