"""Error analysis of two metrics: which of the outputs that people rate high does each find?

After Shimanaka, Kajiwara and Komachi (2018), "Metric for Automatic Machine Translation Evaluation
based on Universal Sentence Representations", §4.4: the top 20% of outputs by human score in each
language pair are analysed. A metric finds one of them if it puts it into its own top of that
language pair. Then those that one metric alone finds are counted by what may have misled the
other: few words in common with the reference, words unknown to an encoder, and length.

Ties stay together: every output that scores as high as the last one of a top belongs to it too, so
that neither the order of a file nor chance decides about an output.

Words are those of sacreBLEU's 13a, in lower case, punctuation included. Where a language is written
without spaces, its characters are taken as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import floor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from adequa.agreement.analysis_results import (
    ALL,
    VERDICTS,
    AnalysedOutput,
    Analysis,
    AnalysisPart,
    AnalysisVerdict,
    Profile,
)
from adequa.agreement.evaluate import metric_infos, reference_count, segment_scores
from adequa.agreement.groups import column_names, rows_by, segment_names
from adequa.agreement.protocol import Protocol, settings_or_default
from adequa.agreement.selection import Selection, selected
from adequa.agreement.sources import Specifications, scoring_notes, sources
from adequa.datasets.load import JudgementData, load_dataset
from adequa.encoders.base import AnyEncoder, Encoder
from adequa.encoders.registry import load_encoder
from adequa.errors import AdequaError, check_fields
from adequa.judgements import Judgements, Ratings, identified, without_repeats
from adequa.metrics.edit_rates import word_overlap, word_splitter
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.significance import sign_test

BoolArray: TypeAlias = npt.NDArray[np.bool_]
_TWO = 2
# Whose words are known: an encoder, as on the command line or as an object.
Vocabulary: TypeAlias = str | AnyEncoder
# Languages without spaces between words, and the tokenizer that cuts them into characters.
_TOKENIZERS = {"zh": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """What counts as high, as a low overlap and as short."""

    top: float = 0.2  # the fraction of outputs, by human score, that is analysed
    overlap: float | None = None  # lower ones are low; None: the median of the analysed outputs
    short: int = 15  # words of an output, at most

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.top < 1:
            raise AdequaError(f"The top share must lie between 0 and 1, not at {self.top:g}.")
        if self.overlap is not None and not 0 <= self.overlap <= 1:
            raise AdequaError(
                f"The bound of a low overlap must be from 0 to 1, and it is {self.overlap:g}."
            )
        if self.short < 0:
            raise AdequaError(f"Short outputs cannot have {self.short} words; name 0 or more.")


@dataclass(frozen=True, slots=True, eq=False)
class _Properties:
    """Properties of all analysed outputs, in the order of the tops."""

    surface: Surface
    low: BoolArray
    short: BoolArray
    unknown: tuple[tuple[str, ...], ...] | None  # words of each output; None without a vocabulary

    def profile(self, chosen: BoolArray) -> Profile:
        """Counts over the chosen outputs, by a mask."""
        unknown = None if self.unknown is None else chosen & np.array(list(map(bool, self.unknown)))
        count = int(chosen.sum())
        return Profile(
            outputs=count,
            low_overlap=int((chosen & self.low).sum()),
            short=int((chosen & self.short).sum()),
            unknown=None if unknown is None else int(unknown.sum()),
            unknown_and_short=None if unknown is None else int((unknown & self.short).sum()),
            mean_overlap=float(self.surface.overlaps[chosen].mean()) if count else float("nan"),
            mean_length=float(self.surface.lengths[chosen].mean()) if count else float("nan"),
        )


def analyse(
    judgements: JudgementData,
    metrics: Specifications,
    settings: AnalysisSettings | None = None,
    *,
    encoders: Vocabulary | Sequence[Vocabulary] = (),
    selection: Selection | None = None,
    progress: Progress = NO_PROGRESS,
) -> Analysis:
    """Analyse which of the outputs that people rate high two metrics find.

    `judgements` are ratings with texts, as `evaluate` takes them, and `metrics` two of those that
    it takes. `encoders`, as on the command line or as objects, say which words are unknown; an
    output has unknown words if any of them lacks one.

    >>> texts = Segments(("a b c d", "a b", "x y"), (("a b c d",), ("a b c",), ("a b c",)))
    >>> human = Ratings(np.array([2.0, 1.0, 0.0]), {"lp": ("cs-en",) * 3}, texts)
    >>> analysis = analyse(human, ["chrf", "wer"], AnalysisSettings(top=0.4))
    >>> analysis.rows[0].verdict.value, analysis.rows[0].overlap
    ('both', 1.0)
    """
    settings = settings_or_default(AnalysisSettings, settings, "settings")
    selection = settings_or_default(Selection, selection, "selection")
    scorers = sources(metrics)
    if len(scorers) != _TWO:
        raise AdequaError(
            f"An analysis compares exactly two metrics or score files, and {len(scorers)} "
            f"{'is' if len(scorers) == 1 else 'are'} named; name two."
        )
    loaded = load_dataset(judgements)
    chosen, texts, repeats, exclusions = _rated_texts(loaded, selection)
    with_words, without_words = vocabularies(encoders)
    scores = segment_scores(chosen, scorers, progress)
    progress.stage("Comparing")
    tops = _tops(chosen, scores, settings.top)
    rows = np.concatenate([top.rows for top in tops])
    analysed = texts.select(rows.tolist())
    surface = surfaces(analysed, _column(chosen, "lp", rows))
    bound = float(np.median(surface.overlaps)) if settings.overlap is None else settings.overlap
    if with_words:
        progress.stage("Looking up words")
    properties = _Properties(
        surface,
        low=surface.overlaps < bound,
        short=surface.lengths <= settings.short,
        unknown=unknown_words(with_words, analysed.hypotheses),
    )
    parts, total = _parts(tops, properties)
    only_a, only_b = (
        total.profiles[verdict].outputs
        for verdict in (AnalysisVerdict.only_a, AnalysisVerdict.only_b)
    )
    own_scores = np.array([[source.sign] for source in scorers]) * scores
    return Analysis(
        dataset=chosen.name,
        settings=settings,
        selection=str(selection),
        metrics=metric_infos(scorers, reference_count(chosen)),
        vocabularies=tuple(encoder.name for encoder in with_words),
        bound=bound,
        parts=parts,
        total=total,
        p_value=sign_test(only_a, only_b),
        rows=_rows(chosen, analysed, own_scores, tops, properties),
        notes=(
            *identified(loaded).file_rows.notes(),
            *exclusions,
            *_note_repeats(repeats),
            *_note_human_ties(tops, settings.top),
            *_note_metric_ties(tops, [source.name for source in scorers]),
            *_note_unspaced(chosen.ids.get("lp", ())),
            *_note_vocabulary(with_words, without_words),
            *scoring_notes(scorers),
        ),
    )


def _rated_texts(
    judgements: Judgements, selection: Selection
) -> tuple[Ratings, Segments, int, list[str]]:
    """The ratings to analyse and their texts, how many more there were of one output, and notes."""
    if not isinstance(judgements, Ratings):
        raise AdequaError(
            "An analysis needs ratings of single outputs, and these judgements are preferences or "
            "scores of whole systems; evaluate takes those."
        )
    chosen, excluded = selected(judgements, selection, Protocol())
    if not isinstance(chosen, Ratings) or chosen.segments is None:
        raise AdequaError(
            "An analysis looks at hypotheses and references, and these ratings have no texts; add "
            "the columns mt and ref."
        )
    if len(chosen) and not chosen.segments.has_references:
        raise AdequaError(
            "An analysis looks at hypotheses and references, and these ratings have sources alone; "
            "evaluate takes those, with metrics that read sources."
        )
    once = without_repeats(chosen)  # every output counts once
    if once.segments is None or not len(once):
        raise AdequaError("There are no ratings to analyse; choose language pairs that have some.")
    return once, once.segments, len(chosen) - len(once), excluded


def _tops(ratings: Ratings, scores: FloatArray, fraction: float) -> tuple[Top, ...]:
    """The top of every language pair, with rows of all the ratings."""
    names = column_names(ratings.ids, len(ratings))
    tops = (
        (rows, top_of(name, ratings.scores[rows], scores[:, rows], fraction))
        for name, rows in rows_by(names).items()
    )
    return tuple(replace(top, rows=rows[top.rows]) for rows, top in tops)


def _parts(
    tops: Sequence[Top], properties: _Properties
) -> tuple[tuple[AnalysisPart, ...], AnalysisPart]:
    """Every language pair, and all together."""
    codes = np.concatenate([top.codes for top in tops])
    top_of_row = np.repeat(np.arange(len(tops)), [len(top.rows) for top in tops])

    def profiles(within: BoolArray) -> dict[AnalysisVerdict, Profile]:
        return {
            verdict: properties.profile(within & (codes == code))
            for code, verdict in enumerate(VERDICTS)
        }

    parts = tuple(
        AnalysisPart(top.name, top.outputs, len(top.rows), top.high, profiles(top_of_row == index))
        for index, top in enumerate(tops)
    )
    if len(parts) == 1:
        return parts, parts[0]
    in_a, in_b = (sum(top.high[metric] for top in tops) for metric in range(_TWO))
    outputs = sum(top.outputs for top in tops)
    return parts, AnalysisPart(
        ALL, outputs, len(codes), (in_a, in_b), profiles(np.full(len(codes), True))
    )


def _column(ratings: Ratings, name: str, rows: IntArray) -> tuple[str, ...]:
    """An id of these rows; empty where the ratings do not have it."""
    column = ratings.ids.get(name)
    return ("",) * len(rows) if column is None else tuple(column[row] for row in rows)


def _rows(
    ratings: Ratings,
    texts: Segments,
    scores: FloatArray,
    tops: Sequence[Top],
    properties: _Properties,
) -> tuple[AnalysedOutput, ...]:
    rows = np.concatenate([top.rows for top in tops])
    human, in_a, in_b = np.concatenate([top.percentiles for top in tops], axis=1).tolist()
    segments = segment_names(ratings.ids)
    columns = zip(
        (ratings.file_rows.rows[rows] + 1).tolist(),
        [top.name for top in tops for _ in top.rows],
        _column(ratings, "system", rows),
        ("",) * len(rows) if segments is None else (segments[row] for row in rows),
        [VERDICTS[code] for top in tops for code in top.codes],
        ratings.scores[rows].tolist(),
        zip(*scores[:, rows].tolist(), strict=True),
        human,
        zip(in_a, in_b, strict=True),
        properties.surface.overlaps.tolist(),
        properties.surface.lengths.tolist(),
        properties.unknown or (None,) * len(rows),
        texts.hypotheses,
        properties.surface.references,
        ("",) * len(rows) if texts.sources is None else texts.sources,
        strict=True,
    )
    return tuple(AnalysedOutput(*cells) for cells in columns)


@dataclass(frozen=True, slots=True, eq=False)
class Top:
    """The top of one language pair by human score, the highest first, and who finds it."""

    name: str  # of the language pair
    outputs: int  # of the whole language pair
    count: int  # in the top, were there no ties
    rows: IntArray  # (m,), the top among the rows of the language pair
    codes: IntArray  # (m,), indices into VERDICTS
    percentiles: FloatArray  # (3, m): people, A, B
    high: tuple[int, int]  # outputs in the metrics' own tops


def top_of(name: str, human: FloatArray, scores: FloatArray, share: float) -> Top:
    """The top of a language pair by human score, (n,), and which of two metrics, (2, n), find it.

    Where ties make the human top larger, those of the metrics grow with it: a metric that orders
    outputs as people do finds them all.

    >>> metrics = np.array([[9.0, 8.0, 1.0, 2.0], [1.0, 8.0, 2.0, 9.0]])
    >>> top = top_of("cs-en", np.array([70.0, 80.0, 10.0, 20.0]), metrics, 0.5)
    >>> top.rows, [VERDICTS[code].value for code in top.codes]
    (array([1, 0]), ['both', 'only-a'])
    """
    count = top_count(len(human), share)
    is_top = in_top(human, count)
    high_by_a, high_by_b = (in_top(metric, int(is_top.sum())) for metric in scores)
    order = np.argsort(-human, kind="stable")
    rows = order[is_top[order]]
    return Top(
        name=name,
        outputs=len(human),
        count=count,
        rows=rows,
        codes=verdict_codes(high_by_a, high_by_b)[rows],
        percentiles=np.stack([percentiles(each)[rows] for each in (human, *scores)]),
        high=(int(high_by_a.sum()), int(high_by_b.sum())),
    )


def top_count(count: int, share: float) -> int:
    """A share of so many outputs, rounded to the nearest whole number, a half up; at least one.

    >>> top_count(560, 0.2), top_count(108, 0.2), top_count(3, 0.1), top_count(5, 0.3)
    (112, 22, 1, 2)
    """
    # Twelve decimals, because 0.29 · 50 is 14.499999999999998 in binary.
    return max(1, floor(round(count * share, 12) + 0.5))


def in_top(scores: FloatArray, count: int) -> BoolArray:
    """Whether each score is among the `count` highest, or equal to the lowest of these.

    >>> in_top(np.array([3.0, 1.0, 2.0, 2.0]), 2)
    array([ True, False,  True,  True])
    """
    cut = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.asarray(scores >= cut)


def percentiles(scores: FloatArray) -> FloatArray:
    """The share of scores that lie below each, in percent; equal ones and itself count half.

    >>> percentiles(np.array([3.0, 1.0, 2.0, 2.0]))
    array([87.5, 12.5, 50. , 50. ])
    """
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores, side="left")
    not_above = np.searchsorted(ordered, scores, side="right")
    return np.asarray(50.0 * (below + not_above) / len(scores))


def verdict_codes(high_by_a: BoolArray, high_by_b: BoolArray) -> IntArray:
    """The index into `VERDICTS` of each output.

    >>> yes_no = np.array([True, True, False, False]), np.array([True, False, True, False])
    >>> [VERDICTS[code].value for code in verdict_codes(*yes_no)]
    ['both', 'only-a', 'only-b', 'neither']
    """
    return 2 * (~high_by_a).astype(np.intp) + ~high_by_b


# Words of outputs: how many of them a reference has too, and which an encoder does not know


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Of each output its words, its overlap with the nearest reference, and that reference."""

    lengths: IntArray
    overlaps: FloatArray
    references: tuple[str, ...]


def tokenizer_of(language_pair: str) -> str:
    """The tokenizer for outputs of a language pair.

    >>> tokenizer_of("cs-en"), tokenizer_of("en-zh"), tokenizer_of("")
    ('13a', 'zh', '13a')
    """
    return _TOKENIZERS.get(re.split("[-_]", f"{language_pair}-")[1], "13a")


def surfaces(segments: Segments, language_pairs: Sequence[str]) -> Surface:
    """Lengths and overlaps of outputs; of several references, the one with the largest overlap."""
    lengths, overlaps, references = [], [], []
    rows = zip(segments.hypotheses, segments.references, language_pairs, strict=True)
    for hypothesis, candidates, pair in rows:
        split = word_splitter(tokenizer_of(pair), lowercase=True)
        words = split(hypothesis)
        candidate_overlaps = [word_overlap(words, split(each)) for each in candidates]
        best = max(candidate_overlaps)
        lengths.append(len(words))
        overlaps.append(best)
        references.append(candidates[candidate_overlaps.index(best)])
    return Surface(np.array(lengths, dtype=np.intp), np.array(overlaps), tuple(references))


def vocabularies(
    encoders: Vocabulary | Sequence[Vocabulary],
) -> tuple[tuple[Encoder, ...], tuple[str, ...]]:
    """The encoders that have a list of words, and the names of those that have none."""
    with_words, without = [], []
    listed = [encoders] if isinstance(encoders, (str, AnyEncoder)) else encoders
    for each in listed:
        encoder = load_encoder(each) if isinstance(each, str) else each
        if isinstance(encoder, Encoder) and encoder.coverage(()) is not None:
            with_words.append(encoder)
        else:
            without.append(encoder.name)
    return tuple(with_words), tuple(without)


def unknown_words(
    encoders: Sequence[Encoder], sentences: Sequence[str]
) -> tuple[tuple[str, ...], ...] | None:
    """The distinct words of each sentence that any of the encoders does not know; None without."""
    coverages = [encoder.coverage(sentences) for encoder in encoders]
    lists = [coverage.unknown for coverage in coverages if coverage is not None]
    if not lists:
        return None
    return tuple(tuple(dict.fromkeys(chain(*words))) for words in zip(*lists, strict=True))


# Notes


def _note_repeats(count: int) -> Iterator[str]:
    """Outputs that were rated more than once."""
    if count:
        yield f"ratings of an output that was rated before: {count:,}; their mean counts."


def _note_human_ties(tops: Sequence[Top], share: float) -> Iterator[str]:
    """Tops that are larger than their share, because people's scores tie."""
    more = {top.name: len(top.rows) - top.count for top in tops}
    if any(more.values()):
        yield (
            f"human scores tie at the cut; analysed beyond {share * 100:g}%: {_by_name(more)}; the "
            "metrics' tops grow with it."
        )


def _note_metric_ties(tops: Sequence[Top], names: Sequence[str]) -> Iterator[str]:
    """Tops of metrics that are larger than people's, because the metric's scores tie."""
    for metric, name in enumerate(names):
        more = {top.name: top.high[metric] - len(top.rows) for top in tops}
        if any(more.values()):
            yield f"scores of {name} tie at the cut; in its top beyond people's: {_by_name(more)}."


def _note_unspaced(pairs: Sequence[str]) -> Iterator[str]:
    """Languages whose characters stand for words."""
    unspaced = sorted(pair for pair in set(pairs) if tokenizer_of(pair) != "13a")
    if unspaced:
        yield f"written without spaces, so that characters count as words: {', '.join(unspaced)}."


def _note_vocabulary(with_words: Sequence[Encoder], without: Sequence[str]) -> Iterator[str]:
    """Why unknown words are not counted, or not those of every encoder."""
    if without:
        yield f"encoders without a list of words, which know no unknown ones: {', '.join(without)}."
    elif not with_words:
        yield "unknown words are not counted; --encoder names an encoder that has a list of words."


def _by_name(more: Mapping[str, int]) -> str:
    """How many more, and where.

    >>> _by_name({"cs-en": 2, "de-en": 0, "ru-en": 1})
    '3 (cs-en 2, ru-en 1)'
    """
    where = [f"{name} {count:,}" for name, count in more.items() if count]
    return where[0] if len(where) == 1 else f"{sum(more.values()):,} ({', '.join(where)})"
