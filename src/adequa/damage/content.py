"""Content: text that is lost, invented, repeated, left untranslated or missing altogether."""

from __future__ import annotations

from random import Random

from adequa.damage.base import (
    FUNCTION_WORDS,
    WORD,
    Context,
    Edit,
    apply_edits,
    begins_sentence,
    by_fraction,
    capitalize_like,
    clause_spans,
    content_spans,
    content_words,
    deletion,
    fraction_count,
    match_case,
    needs_words,
    select_edits,
    split_final_punctuation,
    word_lists,
    word_spans,
)

_LISTS = word_lists("content")
_MIN_WORDS = 4  # a shorter text has no part to lose or to repeat


def _word_count(text: str) -> int:
    return sum(1 for _ in WORD.finditer(text))


# Omission

_MIN_CLAUSE_WORDS = 2  # a shorter clause would not be missed


def word_omitted(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Omit content words, up to half of them."""
    spans = [span for span in content_spans(text) if not text.endswith("ly", *span)]
    if len(spans) < 2:  # noqa: PLR2004  # to omit the only content word is another kind of damage
        return None
    edits = select_edits([deletion(text, *span) for span in spans], severity / 2, random)
    return capitalize_like(text, apply_edits(text, edits))


@needs_words(_MIN_WORDS)
def phrase_omitted(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Omit a run of words, from two words to half of the text."""
    spans = word_spans(text)
    count = max(2, fraction_count(len(spans) // 2, severity))
    # Around a content word, so that something is missed.
    content = set(content_spans(text))
    candidates = [index for index, span in enumerate(spans) if span in content]
    middle = random.choice(candidates or range(len(spans)))
    first = max(0, min(len(spans) - count, middle - int(random.random() * count)))
    edit = deletion(text, spans[first][0], spans[first + count - 1][1])
    return capitalize_like(text, apply_edits(text, [edit]))


def clause_omitted(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Omit clauses, at most all but one."""
    spans = [
        span for span in clause_spans(text) if _word_count(text[slice(*span)]) >= _MIN_CLAUSE_WORDS
    ]
    if len(spans) < 2:  # noqa: PLR2004
        return None
    edits = [deletion(text, *span) for span in spans]
    selected = select_edits(edits, min(severity, (len(spans) - 1) / len(spans)), random)
    body, _ = split_final_punctuation(apply_edits(text, selected).lstrip())
    return capitalize_like(text, body.rstrip(" ,;:-–—") + split_final_punctuation(text)[1])


@needs_words(_MIN_WORDS)
def half_omitted(text: str, severity: float, _random: Random, _context: Context) -> str | None:
    """Omit the last 40 to 60 percent of the words; the final punctuation stays."""
    spans = word_spans(text)
    omitted = max(1, int(len(spans) * (0.4 + 0.2 * severity)))
    return text[: spans[-omitted - 1][1]] + split_final_punctuation(text)[1]


@needs_words(_MIN_WORDS)
def ending_truncated(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Truncate the text by 10 to 40 percent, often within a word."""
    spans = word_spans(text)
    omitted = max(2, int(len(spans) * (0.1 + 0.3 * severity)))
    start, end = spans[-omitted]
    cut = start + int((end - start) * random.random() * 0.8)
    return text[:cut].rstrip()


@needs_words(_MIN_WORDS)
def beginning_omitted(text: str, severity: float, _random: Random, _context: Context) -> str | None:
    """Omit the first words, from two to half of them; the rest begins with a capital."""
    spans = word_spans(text)
    omitted = max(2, fraction_count(len(spans) // 2, severity))
    return capitalize_like(text, apply_edits(text, [Edit(0, spans[omitted][0], "")]))


# Hallucination: fluent English that the source does not say

_DETAILS: list[str] = _LISTS["details"]
_MIN_FLUENT_WORDS = 3  # words of a text, a clause or an ending
_CANDIDATES = 12  # sentences drawn from the corpus, to find one of a similar length
_MAX_OVERLAP = 0.4  # fraction of content words in common above which two texts may mean the same


def other_sentence(text: str, _severity: float, random: Random, context: Context) -> str | None:
    """Replace the text by another sentence of the corpus, of a similar length."""
    return _unrelated_sentence(text, random, context)


def _unrelated_sentence(text: str, random: Random, context: Context) -> str | None:
    """Of a few random sentences of the corpus, the nearest in length with another content."""
    if not context.corpus:
        return None
    candidates = [context.corpus[random.randrange(len(context.corpus))] for _ in range(_CANDIDATES)]
    own = content_words(text)
    for sentence in sorted(candidates, key=lambda candidate: abs(len(candidate) - len(text))):
        words = content_words(sentence)
        most = _MAX_OVERLAP * max(1, min(len(words), len(own)))
        if len(words) >= _MIN_FLUENT_WORDS and len(words & own) <= most:
            return sentence.strip()
    return None


def ending_hallucinated(text: str, severity: float, random: Random, context: Context) -> str | None:
    """Replace the last 25 to 75 percent of the words by the ending of another sentence."""
    spans, other = word_spans(text), _unrelated_sentence(text, random, context)
    if other is None or len(spans) < _MIN_FLUENT_WORDS:
        return None
    other_spans = word_spans(other)
    fraction = 0.25 + 0.5 * severity
    left = max(1, min(len(spans) - 1, round(len(spans) * (1 - fraction))))
    start = max(1, min(len(other_spans) - 1, round(len(other_spans) * (1 - fraction))))
    return f"{text[: spans[left - 1][1]]} {other[other_spans[start][0] :]}"


@needs_words(_MIN_FLUENT_WORDS)
def content_added(text: str, severity: float, random: Random, context: Context) -> str | None:
    """Add one to three clauses of other sentences at the end."""
    added: list[str] = []
    for _ in range(fraction_count(3, severity)):
        clause = _random_clause(_unrelated_sentence(text, random, context), random)
        if clause and clause not in added and clause not in text:
            added.append(clause)
    body, marks = split_final_punctuation(text)
    return ", and ".join([body, *added]) + marks if added else None


def _random_clause(sentence: str | None, random: Random) -> str | None:
    """A clause of a sentence, ready to follow "and"."""
    if sentence is None:
        return None
    clauses = [sentence[slice(*span)].strip(" ,;:.!?\"“”'()-–—") for span in clause_spans(sentence)]
    clauses = [clause for clause in clauses if _word_count(clause) >= _MIN_FLUENT_WORDS]
    if not clauses:
        return None
    clause = random.choice(clauses).removeprefix("and ").removeprefix("but ")
    first = clause.partition(" ")[0]
    if first.lower() in FUNCTION_WORDS - {"i"}:
        return first.lower() + clause[len(first) :]
    return clause


def detail_added(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Add one or two invented details: "for the third time this year"."""
    body, marks = split_final_punctuation(text)
    if len(word_spans(body)) < _MIN_FLUENT_WORDS:
        return None
    details = ", ".join(random.sample(_DETAILS, 2)[: fraction_count(2, severity)])
    commas = [end - 1 for _, end in clause_spans(body)[:-1] if body[end - 1] == ","]
    if commas and random.random() < 0.5:  # noqa: PLR2004
        comma = random.choice(commas)
        return capitalize_like(text, f"{body[:comma]} {details}{body[comma:]}{marks}")
    return f"{body} {details}{marks}"


# Repetition

_MAY_REPEAT = frozenset({"that", "had", "very", "so", "more", "no", "yes", "well"})
_MAX_PHRASE_WORDS = 6


@by_fraction
def word_repeated(text: str, _random: Random, _context: Context) -> list[Edit]:
    """Write words twice: "the the minister"."""
    return [
        Edit(start, end, f"{text[start:end]} {_second_occurrence(text, start, end)}")
        for start, end in word_spans(text)
        if text[start:end].isalpha() and text[start:end].lower() not in _MAY_REPEAT
    ]


def _second_occurrence(text: str, start: int, end: int) -> str:
    word = text[start:end]
    return word.lower() if begins_sentence(text, start) and word[1:].islower() else word


@needs_words(_MIN_WORDS)
def phrase_repeated(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Repeat a phrase of two to six words, one to four times."""
    spans = word_spans(text)
    count = random.randint(2, min(_MAX_PHRASE_WORDS, len(spans) - 1))
    first = random.randrange(len(spans) - count + 1)
    start, end = spans[first][0], spans[first + count - 1][1]
    times = 1 + round(3 * severity)
    return text[:end] + f" {text[start:end]}" * times + text[end:]


@needs_words(1)
def text_repeated(text: str, severity: float, _random: Random, _context: Context) -> str | None:
    """Repeat the whole text, one to three times."""
    return " ".join([text.strip()] * (2 + round(2 * severity)))


@needs_words(_MIN_WORDS)
def ending_looped(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Replace the last 20 to 60 percent of the words by a loop of one to four words."""
    spans = word_spans(text)
    replaced = max(2, int(len(spans) * (0.2 + 0.4 * severity)))
    left = max(1, len(spans) - replaced)
    count = random.randint(1, min(4, left))
    phrase = text[spans[left - count][0] : spans[left - 1][1]]
    times = max(2, -(-replaced // count))
    return text[: spans[left - 1][1]] + f" {phrase}" * times + split_final_punctuation(text)[1]


# Untranslated text: the source or parts of it remain, or another language or script

# Where no source is known, the kinds that copy it do not apply; the others use real words and
# sentences of languages that news is translated from.
_FOREIGN_WORDS: list[list[str]] = list(_LISTS["foreign_words"].values())
_FOREIGN_SENTENCES: list[str] = _LISTS["foreign_sentences"]
_MIN_FOREIGN_LETTERS = 4  # a shorter word may be English too
_MIN_FOREIGN_WORDS = 3  # to draw from
_MAX_SPACE_DISTANCE = 20  # characters: with fewer spaces, they do not separate words
_ENGLISH_OVERLAP = 0.5  # fraction of words in common from which the source is English itself


def untranslated(text: str, _severity: float, _random: Random, context: Context) -> str | None:
    """Replace the translation by its source."""
    source = _foreign_source(text, context)
    return None if source is None else source.strip()


def _foreign_source(text: str, context: Context) -> str | None:
    """The source, if there is one that is not mostly the text itself."""
    if not context.source:
        return None
    words = content_words(context.source)
    foreign = len(words & content_words(text)) < _ENGLISH_OVERLAP * len(words)
    return context.source if foreign else None


def _has_spaces(source: str) -> bool:
    """Whether spaces separate words in the language of the source."""
    return source.count(" ") > len(source) / _MAX_SPACE_DISTANCE


@needs_words(_MIN_WORDS)
def partly_untranslated(
    text: str, severity: float, _random: Random, context: Context
) -> str | None:
    """Replace the last 25 to 75 percent of the text by the ending of its source."""
    spans = word_spans(text)
    source = _foreign_source(text, context)
    if source is None:
        return None
    fraction = 0.25 + 0.5 * severity
    left = max(1, round(len(spans) * (1 - fraction)))
    source = source.strip()
    start = round(len(source) * (1 - fraction))
    if _has_spaces(source):
        start = source.rfind(" ", 0, start) + 1
    return f"{text[: spans[left - 1][1]]} {source[start:]}"


@by_fraction
def words_untranslated(text: str, random: Random, context: Context) -> list[Edit]:
    """Replace content words by words of the source, or without one by other foreign words."""
    options = _words_of_source(text, context) or random.choice(_FOREIGN_WORDS)
    return [
        Edit(start, end, match_case(text[start:end], random.choice(options)))
        for start, end in content_spans(text)
        if text[start:end].isalpha()
    ]


def _words_of_source(text: str, context: Context) -> list[str]:
    """Words of the source that are not in the text; none if they are too few to draw from."""
    source = _foreign_source(text, context)
    if source is None:
        return []
    own = content_words(text)
    words = [match[0] for match in WORD.finditer(source) if match[0].lower() not in own]
    if _has_spaces(source):
        words = [word for word in words if word.isalpha() and len(word) >= _MIN_FOREIGN_LETTERS]
    else:  # pieces of three characters stand for words
        runs = [run for run in words if not run.isascii()]
        words = [run[start : start + 3] for run in runs for start in range(0, len(run), 3)]
    return words if len(words) >= _MIN_FOREIGN_WORDS else []


@needs_words(1)
def wrong_language(text: str, severity: float, random: Random, _context: Context) -> str | None:
    """Replace the text by fluent sentences in other languages."""
    first = random.randrange(len(_FOREIGN_SENTENCES))
    count = fraction_count(max(1, min(3, len(text) // 60)), severity)
    return " ".join(
        _FOREIGN_SENTENCES[(first + offset) % len(_FOREIGN_SENTENCES)] for offset in range(count)
    )


_CYRILLIC = dict(zip("abcdefghijklmnopqrstuvwxyz", "абкдефгхийклмнопкрстуввхыз", strict=True))
_GREEK = dict(zip("abcdefghijklmnopqrstuvwxyz", "αβκδεφγχιικλμνοπκρστυβωξυζ", strict=True))
_SCRIPTS = tuple(
    str.maketrans(letters | {latin.upper(): other.upper() for latin, other in letters.items()})
    for letters in (_CYRILLIC, _GREEK)
)


@by_fraction
def script_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """Spell content words in Cyrillic or Greek letters."""
    script = random.choice(_SCRIPTS)
    return [
        Edit(start, end, text[start:end].translate(script))
        for start, end in content_spans(text)
        if text[start:end].isascii() and text[start:end].isalpha()
    ]


# Empty

_PLACEHOLDERS: list[str] = _LISTS["placeholders"]
_MARKS = (".", "...", "…", "?", "!", "-", "–", ",", "()", '""', ". . .", "???", "---", "* * *")


def empty(text: str, _severity: float, _random: Random, _context: Context) -> str | None:
    """Leave nothing."""
    return "" if text.strip() else None


@needs_words(1)
def only_punctuation(text: str, _severity: float, random: Random, _context: Context) -> str | None:
    """Leave punctuation without words: that of the text, or other marks."""
    own = "".join(mark for mark in text if not mark.isalnum() and not mark.isspace())
    return own if own and random.random() < 0.5 else random.choice(_MARKS)  # noqa: PLR2004


def placeholder(text: str, _severity: float, random: Random, _context: Context) -> str | None:
    """Replace the translation by a note: "N/A", "[no translation]"."""
    return random.choice(_PLACEHOLDERS) if len(word_spans(text)) > 2 else None  # noqa: PLR2004
