"""Error analysis of two metrics: which of the outputs that people rate high does each find?

After Shimanaka, Kajiwara and Komachi (2018), "Metric for Automatic Machine Translation Evaluation
based on Universal Sentence Representations", §4.4: the top 20% of outputs by human score in each
language pair are analysed. A metric finds one of them if it puts it into its own top of that
language pair. Then those that one metric alone finds are counted by what may have misled the
other: few words in common with the reference, words unknown to an encoder, and length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from adequa.agreement import analysis_notes as notes
from adequa.agreement.evaluate import reference_count, segment_scores
from adequa.agreement.groups import column_names, rows_by, segment_names
from adequa.agreement.protocol import Protocol
from adequa.agreement.results import MetricInfo
from adequa.agreement.selection import Selection, selected
from adequa.agreement.sources import Source, Specification, sources
from adequa.agreement.surface import Surface, surfaces
from adequa.agreement.top_share import VERDICTS, BoolArray, Top, Verdict, sign_test, top_of
from adequa.agreement.unknown_words import Vocabulary, Words, unknown_words, vocabularies
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Ratings, identified, without_repeats
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, IntArray, Segments

ALL = "all"  # language pairs together
_TWO = 2


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """What counts as high, as a low overlap and as short."""

    top: float = 0.2  # the share of outputs, by human score, that is analysed
    overlap: float | None = None  # lower ones are low; the median of what is analysed for None
    short: int = 15  # words of an output, at most

    def __post_init__(self) -> None:
        if not 0 < self.top < 1:
            raise AdequaError(f"The top share must lie between 0 and 1, not at {self.top:g}.")
        if self.overlap is not None and not 0 <= self.overlap <= 1:
            raise AdequaError(
                f"The bound of a low overlap must be from 0 to 1, and it is {self.overlap:g}."
            )
        if self.short < 0:
            raise AdequaError(f"Short outputs cannot have {self.short} words; name 0 or more.")


@dataclass(frozen=True, slots=True)
class Profile:
    """Outputs of one verdict, and how many of them have what."""

    outputs: int
    low_overlap: int
    short: int
    unknown: int | None  # with unknown words; None where no vocabulary is at hand
    unknown_and_short: int | None
    mean_overlap: float  # NaN for no outputs
    mean_length: float


@dataclass(frozen=True, slots=True)
class Part:
    """A language pair, or all of them: what was analysed of it, and how it came out."""

    name: str
    outputs: int  # that people have rated
    analysed: int  # of these, the top by human score
    high: tuple[int, int]  # outputs that each metric puts into its own top
    profiles: Mapping[Verdict, Profile]

    def found(self, metric: int) -> int:
        """Analysed outputs that metric 0 or 1, A or B, finds."""
        alone = (Verdict.only_a, Verdict.only_b)[metric]
        return self.profiles[Verdict.both].outputs + self.profiles[alone].outputs


@dataclass(frozen=True, slots=True)
class Row:
    """One analysed output with all that is known of it; percentiles are of its language pair."""

    row: int  # of the file of ratings, counted from 1
    lp: str
    system: str  # empty where it is not known, and so is the segment
    segment: str
    verdict: Verdict
    human: float
    scores: tuple[float, float]  # as the metrics give them
    human_percentile: float
    percentiles: tuple[float, float]  # of the metrics, 100 being best
    overlap: float
    length: int
    unknown: tuple[str, ...] | None
    hypothesis: str
    reference: str  # of several, the nearest
    source: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """All of it: counts by language pair and in all, the outputs themselves, and notes."""

    dataset: str
    settings: AnalysisSettings
    selection: str  # what was chosen from the ratings; empty for all of them
    metrics: tuple[MetricInfo, MetricInfo]
    vocabularies: tuple[str, ...]  # encoders whose words are known
    bound: float  # overlaps below it are low
    parts: tuple[Part, ...]
    total: Part  # the only part where there is one
    p_value: float  # of McNemar's exact test of the one-sided finds, all parts together
    rows: tuple[Row, ...] = field(repr=False)  # by language pair, the highest human score first
    notes: tuple[str, ...] = ()

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Language pairs, and all together where there are several."""
        return self.parts if len(self.parts) == 1 else (*self.parts, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class _Looks:
    """What the texts of all analysed outputs look like, in the order of the tops."""

    surface: Surface
    low: BoolArray
    short: BoolArray
    words: Words | None

    def profile(self, chosen: BoolArray) -> Profile:
        """Counts over the chosen outputs, by a mask."""
        unknown = None if self.words is None else chosen & self.words.any_unknown
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
    judgements: Judgements,
    metrics: Sequence[Specification],
    settings: AnalysisSettings | None = None,
    *,
    encoders: Sequence[Vocabulary] = (),
    selection: Selection | None = None,
    progress: Progress = NO_PROGRESS,
) -> Analysis:
    """Which of the outputs that people rate high do two metrics find, and what do they look like?

    `metrics` are two of those that `evaluate` takes. `encoders`, as command-line words or objects,
    say which words are unknown; an output has unknown words if any of them lacks one.

    >>> texts = Segments(("a b c d", "a b", "x y"), (("a b c d",), ("a b c",), ("a b c",)))
    >>> human = Ratings(np.array([2.0, 1.0, 0.0]), {"lp": ("cs-en",) * 3}, texts)
    >>> found = analyse(human, ["chrf", "wer"], AnalysisSettings(top=0.4))
    >>> found.rows[0].verdict.value, found.rows[0].overlap
    ('both', 1.0)
    """
    asked, choice = settings or AnalysisSettings(), selection or Selection()
    if len(metrics) != _TWO:
        raise AdequaError(
            f"An analysis compares exactly two metrics or score files, and {len(metrics)} "
            f"{'is' if len(metrics) == 1 else 'are'} named; name two."
        )
    found = sources(metrics)
    chosen, texts, repeated, excluded = _rated_texts(judgements, choice)
    known, without_words = vocabularies(encoders)
    scores = segment_scores(chosen, found, progress)
    progress.stage("Comparing")
    tops = _tops(chosen, scores, asked.top)
    rows = np.concatenate([top.rows for top in tops])
    analysed = texts.select(rows.tolist())
    surface = surfaces(analysed, _column(chosen, "lp", rows))
    bound = float(np.median(surface.overlaps)) if asked.overlap is None else asked.overlap
    if known:
        progress.stage("Looking up words")
    looks = _Looks(
        surface,
        low=surface.overlaps < bound,
        short=surface.lengths <= asked.short,
        words=unknown_words(known, analysed.hypotheses),
    )
    parts, total = _parts(tops, looks)
    alone = [total.profiles[verdict].outputs for verdict in (Verdict.only_a, Verdict.only_b)]
    return Analysis(
        dataset=chosen.name,
        settings=asked,
        selection=str(choice),
        metrics=_infos(found, chosen),
        vocabularies=tuple(encoder.name for encoder in known),
        bound=bound,
        parts=parts,
        total=total,
        p_value=sign_test(*alone),
        rows=_rows(chosen, analysed, _own(scores, found), tops, looks),
        notes=(
            *identified(judgements).file_rows.notes(),
            *excluded,
            *notes.repeats(repeated),
            *notes.human_ties(tops, asked.top),
            *notes.metric_ties(tops, [source.name for source in found]),
            *notes.unspaced(chosen.ids.get("lp", ())),
            *notes.vocabulary(known, without_words),
            *_remarks(found),
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
    once = without_repeats(chosen)  # an output is found or missed once
    if once.segments is None or not len(once):
        raise AdequaError("There are no ratings to analyse; choose language pairs that have some.")
    return once, once.segments, len(chosen) - len(once), excluded


def _tops(ratings: Ratings, scores: FloatArray, share: float) -> tuple[Top, ...]:
    """The top of every language pair, with rows of all the ratings."""
    names = column_names(ratings.ids, len(ratings))
    tops = (
        (rows, top_of(name, ratings.scores[rows], scores[:, rows], share))
        for name, rows in rows_by(names).items()
    )
    return tuple(replace(top, rows=rows[top.rows]) for rows, top in tops)


def _parts(tops: Sequence[Top], looks: _Looks) -> tuple[tuple[Part, ...], Part]:
    """Every language pair, and all together."""
    codes = np.concatenate([top.codes for top in tops])
    places = np.repeat(np.arange(len(tops)), [len(top.rows) for top in tops])

    def profiles(within: BoolArray) -> dict[Verdict, Profile]:
        return {
            verdict: looks.profile(within & (codes == code))
            for code, verdict in enumerate(VERDICTS)
        }

    parts = tuple(
        Part(top.name, top.outputs, len(top.rows), top.high, profiles(places == place))
        for place, top in enumerate(tops)
    )
    if len(parts) == 1:
        return parts, parts[0]
    in_a, in_b = (sum(top.high[metric] for top in tops) for metric in range(_TWO))
    outputs = sum(top.outputs for top in tops)
    return parts, Part(ALL, outputs, len(codes), (in_a, in_b), profiles(np.full(len(codes), True)))


def _infos(found: Sequence[Source], ratings: Ratings) -> tuple[MetricInfo, MetricInfo]:
    count = reference_count(ratings)
    first, second = (MetricInfo(source.name, source.signature(count)) for source in found)
    return first, second


def _remarks(found: Sequence[Source]) -> tuple[str, ...]:
    """What the metrics tell of their scoring; what both tell, once."""
    remarks = (note for source in found if source.metric for note in source.metric.remarks())
    return tuple(dict.fromkeys(remarks))


def _own(scores: FloatArray, found: Sequence[Source]) -> FloatArray:
    """Scores as the metrics give them, lower being better where it is so."""
    return np.array([[source.sign] for source in found]) * scores


def _column(ratings: Ratings, name: str, rows: IntArray) -> tuple[str, ...]:
    """An id of these rows; empty where it is not known."""
    column = ratings.ids.get(name)
    return ("",) * len(rows) if column is None else tuple(column[row] for row in rows)


def _rows(
    ratings: Ratings,
    texts: Segments,
    scores: FloatArray,
    tops: Sequence[Top],
    looks: _Looks,
) -> tuple[Row, ...]:
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
        looks.surface.overlaps.tolist(),
        looks.surface.lengths.tolist(),
        (None,) * len(rows) if looks.words is None else looks.words.unknown,
        texts.hypotheses,
        looks.surface.references,
        ("",) * len(rows) if texts.sources is None else texts.sources,
        strict=True,
    )
    return tuple(Row(*cells) for cells in columns)
