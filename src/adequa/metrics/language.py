"""The target language of segments: how it is found, which metrics score it, and what to note.

BLEU over several languages is no number, a tokenizer belongs to a language, and a metric that was
trained on one language says nothing of another. All entry points (the command line, Python, the
service) decide these questions here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from adequa.errors import AdequaError, LanguageWarning, counted, warn
from adequa.languages import (
    TargetLanguage,
    are_related,
    detect_language,
    is_ambiguous,
    known_language,
    parse_language,
    several_languages,
    target_language,
)
from adequa.metrics import DEFAULT_METRICS
from adequa.metrics.base import Metric
from adequa.metrics.english import is_foreign_remark
from adequa.segments import Segments

ANY_LANGUAGE_METRICS = ("bleu", "chrf")  # the default metrics of languages other than English
_BUFFERED = 2000  # segments of a stream that are read before its language is decided
_FEW_SEGMENTS = 10  # too few for a system to be suspected of anything
_NEARLY_ALL = 0.9  # fraction of segments
PAIR = "lp"  # the id that names a language pair


# Segments of one language


@dataclass(frozen=True, slots=True, eq=False)
class LanguageStream:
    """Batches of segments of one target language."""

    target: TargetLanguage
    batches: Iterator[Segments]
    notes: tuple[str, ...] = ()  # on the language


def read_language(
    batches: Iterable[Segments], given: str | TargetLanguage | None = None
) -> LanguageStream:
    """The segments of a language: the given one, or the only one that there is.

    A stream is read once: the language is detected from its beginning. Where the segments name
    their language pairs, a given language selects those of it, and several without a given one are
    an error.
    """
    iterator = iter(batches)
    if isinstance(given, TargetLanguage) and given.origin != "given":  # decided before
        first = _beginning(iterator)
        notes = language_notes(given, _target_texts(first))
        return LanguageStream(given, chain(first, iterator), notes)
    if given is not None:
        target = given if isinstance(given, TargetLanguage) else parse_language(given)
        iterator = _selected(iterator, target)
    beginning = _beginning(iterator)
    references = _target_texts(beginning)
    if given is not None:
        # Without references, `system_notes` says it of each system.
        has_references = any(batch.has_references for batch in beginning)
        notes = _contradiction(references, target) if has_references else ()
        return LanguageStream(target, chain(beginning, iterator), notes)
    pairs = dict.fromkeys(pair for batch in beginning for pair in batch.ids.get(PAIR, ()))
    target = target_language(None, references, pairs)
    checked = _of_one_language(chain(beginning, iterator), target)
    return LanguageStream(target, checked, language_notes(target, references))


def _target_texts(batches: Iterable[Segments]) -> list[str]:
    return [text for batch in batches for text in batch.target_texts]


def _beginning(batches: Iterator[Segments]) -> list[Segments]:
    """The first batches, until there are enough segments to detect a language."""
    first: list[Segments] = []
    count = 0
    for batch in batches:
        first.append(batch)
        count += len(batch)
        if count >= _BUFFERED:
            break
    return first


def _selected(batches: Iterator[Segments], target: TargetLanguage) -> Iterator[Segments]:
    """The segments of a language, where they say which they are of; raise where there is none."""
    seen: dict[str, None] = {}
    is_empty = True
    for batch in batches:
        pairs = batch.ids.get(PAIR, ())
        seen |= dict.fromkeys(pairs)
        fits = {pair: is_of_language(pair, target) for pair in dict.fromkeys(pairs)}
        rows = [row for row, pair in enumerate(pairs) if fits[pair]] if pairs else range(len(batch))
        if len(rows):
            is_empty = False
            yield batch if len(rows) == len(batch) else batch.select(rows)
    if is_empty and seen:
        raise AdequaError(f"No segment is of {target.pair}; there are: {', '.join(sorted(seen))}.")


def is_of_language(pair: str, target: TargetLanguage) -> bool:
    """Whether a language pair is that of a target; what names no language may be."""
    named = known_language(pair, "column")
    if named is None:
        return True
    agree = [(named.code, target.code), (named.source, target.source)]
    variants = (named.variant or "").casefold(), (target.variant or "").casefold()
    return all(one == other for one, other in (*agree, variants) if one and other)


def _of_one_language(batches: Iterator[Segments], target: TargetLanguage) -> Iterator[Segments]:
    """The batches; raise where a later one names another target language."""
    seen: dict[str, None] = {}
    for batch in batches:
        new = [pair for pair in dict.fromkeys(batch.ids.get(PAIR, ())) if pair not in seen]
        seen |= dict.fromkeys(new)
        for named in (known_language(pair, "column") for pair in new):
            if named is not None and target.origin == "column" and named.code != target.code:
                raise several_languages(seen)
        yield batch


# Metrics of a language


def default_metrics(target: TargetLanguage) -> tuple[str, ...]:
    """The metrics where none are named: those that know the language."""
    if target.code in {None, "en"}:
        return DEFAULT_METRICS
    return ANY_LANGUAGE_METRICS if _has_tokenizer(target) else ("chrf",)


def _has_tokenizer(target: TargetLanguage) -> bool:
    """Whether the packages that BLEU's tokenizer of the language needs are installed."""
    from adequa.metrics.sacrebleu_metrics import (  # noqa: PLC0415 - sacreBLEU takes a while
        check_tokenizer,
        language_tokenizer,
    )

    try:
        check_tokenizer(language_tokenizer(target.code))
    except AdequaError:
        return False
    return True


def default_notes(target: TargetLanguage) -> tuple[str, ...]:
    """Notes on default metrics that are left out for a language."""
    names = default_metrics(target)
    notes = []
    if "adequa" not in names:
        notes.append(
            f"adequa is left out: it knows English alone, and the translations are {target}."
        )
    if "bleu" not in names:
        notes.append(
            f"bleu is left out: its tokenizer of {target} is not installed; pip install "
            f"'adequa[{target.code}]' installs it."
        )
    return tuple(notes)


def metrics_for(metrics: Mapping[str, Metric], target: TargetLanguage) -> dict[str, Metric]:
    """Metrics with the settings that a language needs; raise where one refuses it."""
    return {label: metric.for_language(target.code) for label, metric in metrics.items()}


# Notes


def language_notes(target: TargetLanguage, texts: Iterable[str]) -> tuple[str, ...]:
    """The note that names the target language; English, as all defaults are for it, has none.

    Where it is not known, the texts decide whether that is worth a note.
    """
    if target.code is None:
        unknown = (
            "the target language is not known: the text is too short, or of more than one "
            "language; -l names it."
        )
        return (unknown,) if is_ambiguous(texts) else ()
    if target.code == "en" or target.origin == "given":
        return ()
    known = "(detected; -l sets another)" if target.origin == "detected" else f"(column {PAIR})"
    return (f"target language: {target} {known}.",)


def other_notes(stream: LanguageStream) -> tuple[str, ...]:
    """Notes of a stream without that which names the language, for results that show it anyway."""
    return tuple(note for note in stream.notes if note not in language_notes(stream.target, ()))


def _contradiction(references: Sequence[str], target: TargetLanguage) -> tuple[str, ...]:
    """A note where the references are plainly of another language than the given one."""
    detected = detect_language(references)
    if are_related(detected.code, target.code):
        return ()
    return (f"the references look {detected}, and the language given is {target}.",)


def system_notes(
    name: str,
    sample: Segments,
    target: TargetLanguage,
    *,
    identical: int,
    count: int,
) -> Iterator[str]:
    """Notes on a system that is the reference or the source, is tokenized, or of another language.

    `sample` are some of its segments, or all; `identical` of `count` outputs equal a reference.
    """
    if count >= _FEW_SEGMENTS and identical >= _NEARLY_ALL * count:
        yield (
            f"{identical:,} of {counted(count, 'output')} of {name} are identical to a reference: "
            "is it the reference, and no system?"
        )
    copies = _source_copies(sample)
    is_source = len(sample) >= _FEW_SEGMENTS and copies >= _NEARLY_ALL * len(sample)
    if is_source and not sample.has_references:
        yield (
            f"{copies:,} of {counted(len(sample), 'output')} of {name} are identical to their "
            "sources: are they translations?"
        )
        return
    tokenized = _separate_periods(sample.hypotheses)
    expected = _separate_periods(sample.target_texts) if sample.has_references else 0
    if len(sample) >= _FEW_SEGMENTS and 2 * (tokenized - expected) > len(sample):
        yield (
            f"{tokenized:,} of {counted(len(sample), 'output')} of {name} end in a separate "
            "period, as tokenized text does; metrics tokenize by themselves and expect plain text."
        )
    detected = detect_language(sample.hypotheses)
    if detected.code is None or are_related(detected.code, target.code):
        return
    language = target  # or, where the user names another, that of the references
    if target.origin in {"given", "unknown"} and sample.has_references:
        language = detect_language(sample.target_texts)
    if not are_related(detected.code, language.code):
        reason = " They are the source text." if 2 * copies > len(sample) else ""
        expected_of = "the references are" if sample.has_references else "the target language is"
        yield f"the outputs of {name} look {detected}, and {expected_of} {language}.{reason}"


def _source_copies(segments: Segments) -> int:
    pairs = zip(segments.hypotheses, segments.sources or (), strict=False)
    return sum(hypothesis.strip() == source.strip() for hypothesis, source in pairs)


def _separate_periods(texts: Iterable[str]) -> int:
    return sum(text.rstrip().endswith(" .") for text in texts)


def identical_outputs(segments: Segments) -> int:
    """The number of hypotheses that equal one of their references."""
    pairs = zip(segments.hypotheses, segments.references, strict=True)
    return sum(
        hypothesis in references or hypothesis.strip() in map(str.strip, references)
        for hypothesis, references in pairs
    )


def empty_outputs(hypotheses: Iterable[str]) -> int:
    """The number of hypotheses without any text."""
    return sum(not hypothesis.strip() for hypothesis in hypotheses)


def empty_note(name: str, empty: int, count: int) -> str:
    """The note on a system that has empty hypotheses."""
    return f"empty hypotheses of {name}: {empty:,} of {count:,}, scored as they are."


def is_language_note(note: str) -> bool:
    """Whether a note is on the language of outputs, which a remark of a metric would repeat."""
    return note.startswith("the outputs of ") and " look " in note


def remaining_remarks(
    remarks: Iterable[str], warnings: Iterable[str | None], notes: Iterable[str]
) -> tuple[str, ...]:
    """Remarks of metrics, without those on foreign hypotheses where that is said already."""
    is_said = any(warnings) or any(map(is_language_note, notes))
    return tuple(each for each in remarks if not (is_said and is_foreign_remark(each)))


def warn_of_languages(warnings: Iterable[str | None], notes: Iterable[str]) -> None:
    """Issue Python's warnings: on metrics that do not know the language, and on the outputs."""
    for sentence in dict.fromkeys(filter(None, warnings)):
        warn(sentence, LanguageWarning)
    for note in dict.fromkeys(notes):
        if is_language_note(note) or note.startswith("the references look "):
            warn(note, LanguageWarning)
        elif "are identical to" in note or "end in a separate period" in note:
            warn(note)
