"""The Metric contract: settings in, sufficient statistics per segment, scores out.

A metric is a frozen dataclass whose fields are its settings, so that its repr, its signature and
its command-line settings come from one place. It defines three small functions:

- `statistics(segments)`, one row of numbers per segment that add up over segments;
- `segment_scores(statistics)`, one score per row;
- `system_scores(totals)`, one score per row of summed statistics.

Everything else (streaming, documents, resampling) is arithmetic on those rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.metadata import version
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from adequa.errors import AdequaError, LanguageWarning, check_fields, nearest, warn
from adequa.languages import UNKNOWN_LANGUAGE, TargetLanguage, language_name, target_language
from adequa.segments import FloatArray, Frame, ReferenceLayout, Segments, Signature, as_segments
from adequa.tables import WARNING, Column, Result, Table
from adequa.version import __version__


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores(Result):
    """The scores of one metric: one for each segment, and the system score with its statistics.

    `statistics` has one row per segment and adds up: any selection or resampling of segments gets
    its system score from the sum of its rows, without looking at text again. `remarks` are notes
    on the scores, such as how many texts were too long to be read whole.
    """

    signature: Signature
    segments: FloatArray
    system: float
    statistics: FloatArray
    remarks: tuple[str, ...] = ()
    higher_is_better: bool = True
    decimals: int = 4
    warning: str | None = None  # why the scores mean little for the target language
    language: TargetLanguage = UNKNOWN_LANGUAGE  # of the translations

    @property
    def score(self) -> float:
        """The system score, by the name that sacreBLEU has for it."""
        return self.system

    def tables(self) -> tuple[Table, ...]:
        column = score_column(
            self.signature.metric, self.higher_is_better, self.decimals, warning=self.warning
        )
        notes = (*warning_notes([self.warning]), str(self.signature), *self.remarks)
        return (Table((column,), [(self.system,)], notes=notes),)

    def long_table(self) -> Table:
        columns = Column("segment", "integer"), Column(self.signature.metric, "number")
        return Table(columns, list(enumerate(self.segments.tolist(), 1)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.signature.metric,
            "signature": str(self.signature),
            "higher_is_better": self.higher_is_better,
            "language": self.language.to_dict(),
            **({} if self.warning is None else {"warning": self.warning}),
            "score": self.system,
            "segments": self.segments.tolist(),
        }


def score_column(
    name: str,
    higher_is_better: bool,
    decimals: int,
    *,
    mark: bool = False,
    warning: str | None = None,
) -> Column:
    """The column of a metric's scores for readers, whose best score may be marked.

    Numbers of which there is a warning are marked, each of them, and none of them as the best.
    """
    has_best = mark and warning is None
    return Column(
        name,
        "number",
        decimals=decimals,
        heading=f"{name} {'↑' if higher_is_better else '↓'}",
        direction=("higher" if higher_is_better else "lower") if has_best else None,
        mark="" if warning is None else WARNING,
    )


def warning_notes(warnings: Iterable[str | None]) -> tuple[str, ...]:
    """The lines below a table that explain its marked numbers."""
    return tuple(f"{WARNING} {each}" for each in dict.fromkeys(filter(None, warnings)))


_EXCERPT = 40  # characters of a text in an error


# What a metric may read of a segment beside the hypothesis, and whether it can do without.
Part: TypeAlias = Literal["reference", "source"]
Need: TypeAlias = Literal["required", "optional"]


def combined_reads(metrics: Iterable[Metric]) -> dict[Part, Need]:
    """What metrics together read of a segment: required where any of them requires it."""
    needs = [need for metric in metrics for need in metric.reads.items()]
    parts: tuple[Part, ...] = get_args(Part)
    return {
        part: "required" if (part, "required") in needs else "optional"
        for part in parts
        if any(part == name for name, _ in needs)
    }


def reads_in_words(reads: Mapping[Part, Need]) -> str:
    """What a metric reads beside the hypothesis, for readers.

    >>> reads_in_words({"reference": "required", "source": "optional"})
    'references, and sources if given'
    >>> reads_in_words({"reference": "optional", "source": "optional"})
    'references, sources or both'
    """
    required = [f"{part}s" for part, need in reads.items() if need == "required"]
    optional = [f"{part}s" for part, need in reads.items() if need == "optional"]
    if required:
        given = [f"and {' and '.join(optional)} if given"] if optional else []
        return ", ".join([" and ".join(required), *given])
    return f"{', '.join(optional)} or both" if len(optional) > 1 else "".join(optional)


class Metric(ABC):
    """Turns segments into one score each and a system score."""

    # Set these without an annotation (`name = "bleu"`): every annotated name of a metric is one of
    # its settings. A trained metric may set them for the instance.
    name: str
    higher_is_better: bool
    # Lowest and highest score, with that of a text identical to its reference; infinite where there
    # is no bound.
    range: tuple[float, float]
    decimals: int = 4  # places worth showing a person
    # Most references a segment may have; None where the definition takes any number.
    max_references: int | None = None
    # True where a segment's statistics depend on the other segments, so that a corpus cannot be
    # scored in batches (NIST's information weights).
    needs_whole_corpus: bool = False
    # Whether scoring takes so long that scores are cached on disk; see `enable_cache`.
    caches_scores: bool = False
    # What the metric reads of a segment beside the hypothesis, and whether it can do without.
    reads: Mapping[Part, Need] = {"reference": "required"}
    # Columns of numbers beside the texts that the metric reads, from the ids of segments.
    columns: tuple[str, ...] = ()
    # Codes of the languages that the metric was made for; None where it takes any.
    languages: frozenset[str] | None = None
    # Packages whose version may change the score, beside our own.
    versioned_packages: tuple[str, ...] = ()
    # Allowed values of those settings that are words.
    choices: Mapping[str, tuple[str, ...]] = {}
    # Least and greatest values of those settings that are numbers.
    limits: Mapping[str, tuple[float, float]] = {}
    # Allowed values of other settings, in words.
    forms: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        check_fields(self)
        for setting, values in self.choices.items():
            check_choice(setting, getattr(self, setting), values)
        for setting, (least, most) in self.limits.items():
            if getattr(self, setting) is not None:
                check_between(setting, getattr(self, setting), least, most)

    @abstractmethod
    def statistics(self, segments: Segments) -> FloatArray:
        """Sufficient statistics, shape (segments, k)."""

    @abstractmethod
    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        """One score for each row of statistics."""

    @abstractmethod
    def system_scores(self, totals: FloatArray) -> FloatArray:
        """One system score for each row of summed statistics."""

    def score(
        self,
        hypotheses: Iterable[str] | Segments | Frame,
        references: Iterable[str] | Iterable[Sequence[str]] | None = None,
        *,
        sources: Iterable[str] | None = None,
        layout: ReferenceLayout | None = None,
        language: str | TargetLanguage | None = None,
    ) -> Scores:
        """Score segments, each by itself and all together.

        Takes lists of strings, `Segments`, or a data frame with the columns mt and ref; see
        `adequa.segments.as_segments`. The target language is `language`, or else detected: it
        decides the tokenizer where none is chosen, and whether there is a warning.
        """
        segments = as_segments(hypotheses, references, sources, layout=layout)
        target = target_language(language, segments.target_texts, segments.ids.get("lp", ()))
        metric = self.for_language(target.code)
        warning = metric.language_warning(target)
        if warning is not None:
            warn(warning, LanguageWarning)
        return replace(metric.compute_scores(segments), language=target, warning=warning)

    def compute_scores(self, segments: Segments) -> Scores:
        """Scores with the settings as they are, whatever the language is."""
        before = self.counted_remarks()
        statistics = self.checked_statistics(segments)
        return Scores(
            signature=self.signature(
                segments.reference_count, sources=segments.sources is not None
            ),
            segments=self.segment_scores(statistics),
            system=float(self.system_scores(statistics.sum(axis=0, keepdims=True))[0]),
            statistics=statistics,
            remarks=render_remarks(remarks_since(before, self.counted_remarks())),
            higher_is_better=self.higher_is_better,
            decimals=self.decimals,
        )

    def corpus_score(
        self,
        hypotheses: Iterable[str],
        references: Iterable[Sequence[str]],
        *,
        language: str | TargetLanguage | None = None,
    ) -> Scores:
        """Score with the arguments of sacreBLEU's method: one list for each reference."""
        return self.score(hypotheses, references, layout="streams", language=language)

    def checked_statistics(self, segments: Segments) -> FloatArray:
        """`statistics`, after a check that this metric can take these segments."""
        if not len(segments):
            raise AdequaError(f"There are no segments for {self.name} to score.")
        self.check_reads(segments)
        most = max(map(len, segments.references))
        if self.max_references is not None and most > self.max_references:
            raise AdequaError(
                f"{self.name} is defined for {self.max_references} reference a segment, not {most}."
            )
        return self.statistics(segments)

    def check_reads(self, segments: Segments) -> None:
        """Raise where segments lack what the metric needs, or have nothing that it reads."""
        given: dict[Part, bool] = {
            "reference": segments.has_references,
            "source": segments.sources is not None,
        }
        missing = [part for part, need in self.reads.items() if need == "required"]
        missing = [part for part in missing if not given[part]]
        if missing or not any(given[part] for part in self.reads):
            raise AdequaError(self._what_is_missing(missing))
        if "source" in self.reads and segments.sources is not None:
            self._refuse_empty_sources(segments.hypotheses, segments.sources)

    def _what_is_missing(self, missing: Sequence[Part]) -> str:
        needed = missing or list(self.reads)
        names = (" and " if missing else " or ").join(f"{part}s" for part in needed)
        options = {"reference": "-r, or a column ref", "source": "-s, or a column src"}
        advice = (" and " if missing else "; or ").join(options[part] for part in needed)
        return (
            f"{self.name} needs {names}, and there are none: give them ({advice}), or name another "
            "metric."
        )

    def _refuse_empty_sources(self, hypotheses: Sequence[str], sources: Sequence[str]) -> None:
        """Raise where some sources are empty: their scores would not be comparable with others."""
        if all(map(str.strip, sources)):
            return
        text = next(
            one for one, other in zip(hypotheses, sources, strict=True) if not other.strip()
        )
        raise AdequaError(
            f'{self.name} reads sources, and that of the hypothesis "{text[:_EXCERPT]}" is empty; '
            "give every segment its source."
        )

    def signature(self, reference_count: int | None, *, sources: bool | None = None) -> Signature:
        """The line that names this score: every setting, and the version that computed it.

        `sources` says whether the segments had sources, for metrics that can do without; None where
        that is not known.
        """
        if "reference" not in self.reads:
            reference_count = 0
        names_sources = self.reads.get("source") == "optional" and sources is not None
        return Signature(
            self.name,
            (
                ("nrefs", "var" if reference_count is None else str(reference_count)),
                *((("src", "yes" if sources else "no"),) if names_sources else ()),
                *self.signature_fields(),
            ),
        )

    def remarks(self) -> tuple[str, ...]:
        """Return notes on the scores for the user, such as the number of truncated texts.

        Trained metrics count over all calls so far.
        """
        return render_remarks(self.counted_remarks())

    def counted_remarks(self) -> tuple[Remark, ...]:
        """Return the remarks with their counts, so that those of several workers can be added."""
        return ()

    def for_language(self, code: str | None) -> Metric:
        """The metric with the settings that this target language needs, where none were chosen."""
        del code
        return self

    @property
    def splits_at_spaces(self) -> bool:
        """Whether the metric compares words that it finds by the spaces between them."""
        return False

    def language_warning(self, target: TargetLanguage) -> str | None:
        """A sentence where the scores of this target language mean little; else None."""
        if target.code is None:
            return None
        if self.languages is not None and target.code not in self.languages:
            known = " and ".join(sorted(map(language_name, self.languages)))
            return (
                f"{self.name} knows {known} alone: its scores of {target} do not say how good the "
                "translations are; use chrf."
            )
        if target.is_unspaced and self.splits_at_spaces:
            return (
                f"{self.name} finds words by the spaces between them, and {target} is written "
                "without: its scores say little; use chrf, or bleu with the tokenizer of the "
                "language."
            )
        return None

    def enable_cache(self, file: Path, limit: int) -> None:
        """Keep scores on disk between runs, in a file of at most about `limit` bytes.

        Metrics that are quicker than a disk keep none. The file may hold the scores of several.
        """
        del file, limit

    def segment_signature(
        self, reference_count: int | None, *, sources: bool | None = None
    ) -> Signature:
        """The signature of segment scores, where their settings differ from the system score's."""
        return self.signature(reference_count, sources=sources)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        """Every setting that changes the score. By default all settings, then the versions."""
        settings = ((f.name, format_setting(getattr(self, f.name))) for f in fields(self))  # type: ignore[arg-type]  # every metric is a dataclass
        packages = ((package, _installed_version(package)) for package in self.versioned_packages)
        return (*settings, *packages, ("version", __version__))


# Computes the statistics of segments with a metric: `Metric.checked_statistics`, or a function that
# does it elsewhere, such as in the queue of a server that batches segments of many requests.
ComputeStatistics: TypeAlias = Callable[[Metric, Segments], FloatArray]


@cache
def _installed_version(package: str) -> str:
    """The version of a package; cached, since a server writes signatures for every request."""
    return version(package)


class MeanMetric(Metric):
    """A metric whose system score is the mean of its segment scores."""

    @abstractmethod
    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        """One score per segment."""

    def statistics(self, segments: Segments) -> FloatArray:
        scores = self.compute_segment_scores(segments)
        return np.column_stack([scores, np.ones_like(scores)])

    def segment_scores(self, statistics: FloatArray) -> FloatArray:
        return statistics[:, 0] / statistics[:, 1]

    def system_scores(self, totals: FloatArray) -> FloatArray:
        return totals[:, 0] / totals[:, 1]


def format_setting(value: object) -> str:
    """The value of a setting as command lines and signatures have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Remark:
    """A note on scores: a sentence in pieces, with a count between each two of them.

    A worker counts what it sees, and another process prints one sentence for all workers.

    >>> str(Remark(("", " texts of ", " were cut."), ("", " text of ", " was cut."), (1, 2000)))
    '1 text of 2,000 was cut.'
    """

    several: tuple[str, ...]
    one: tuple[str, ...] = ()  # where the first count is 1
    counts: tuple[int, ...] = ()  # none where the sentence holds for any number of scores

    def __str__(self) -> str:
        words = self.one if self.counts[:1] == (1,) else self.several
        counts = (f"{count:,}" for count in self.counts)
        return "".join(chain.from_iterable(zip_longest(words, counts, fillvalue="")))

    @property
    def is_silent(self) -> bool:
        """Whether the first count is 0, so that there is nothing to print."""
        return self.counts[:1] == (0,)


def plain_remarks(texts: Iterable[str]) -> tuple[Remark, ...]:
    """Return sentences without counts as remarks."""
    return tuple(Remark((text,)) for text in texts)


def budget_remarks(name: str, tried: str, texts: int) -> tuple[Remark, ...]:
    """Return the remark on texts that a metric would take minutes for.

    >>> [str(remark) for remark in budget_remarks("ter", "shifts", 2)]
    ['ter did not try all shifts of 2 long texts, which would take minutes.']
    """
    before, after = f"{name} did not try all {tried} of ", ", which would take minutes."
    several, one = ((before, f" long {each}{after}") for each in ("texts", "text"))
    return (Remark(several, one, (texts,)),)


def render_remarks(remarks: Iterable[Remark]) -> tuple[str, ...]:
    """Return the sentences of all remarks that are not silent.

    >>> none = Remark(("", " texts were cut."), counts=(0,))
    >>> render_remarks([*plain_remarks(["It is late."]), none])
    ('It is late.',)
    """
    return tuple(str(remark) for remark in remarks if not remark.is_silent)


def merge_remarks(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Return each sentence once, with the sums of its counts.

    >>> cut = Remark(("", " of ", " were cut."), counts=(2, 10))
    >>> render_remarks(merge_remarks([cut, cut]))
    ('4 of 20 were cut.',)
    """
    sums: dict[tuple[tuple[str, ...], ...], Remark] = {}
    for remark in remarks:
        words = (remark.several, remark.one)
        earlier = sums.get(words)
        if earlier is None:
            sums[words] = remark
        else:
            counts = map(sum, zip(earlier.counts, remark.counts, strict=True))
            sums[words] = replace(earlier, counts=tuple(counts))
    return tuple(sums.values())


def remarks_since(before: Iterable[Remark], now: Iterable[Remark]) -> tuple[Remark, ...]:
    """Return the remarks with the counts since an earlier call.

    >>> cut = Remark(("", " of ", " were cut."), counts=(2, 10))
    >>> render_remarks(remarks_since([cut], [replace(cut, counts=(5, 14))]))
    ('3 of 4 were cut.',)
    """
    less = (replace(each, counts=tuple(-count for count in each.counts)) for each in before)
    changed = merge_remarks(chain(now, less))
    return tuple(each for each in changed if not each.counts or any(each.counts))


_BATCH = 256  # segments; small enough that progress shows in slow metrics


def batched_statistics(
    metric: Metric,
    segments: Segments,
    scored: Callable[[int], None],
    compute: ComputeStatistics = Metric.checked_statistics,
) -> FloatArray:
    """Sufficient statistics of all segments; `scored` is called with the size of each batch."""
    size = len(segments) if metric.needs_whole_corpus else _BATCH
    parts = []
    for start in range(0, len(segments), size):
        batch = segments.select(range(start, min(start + size, len(segments))))
        parts.append(compute(metric, batch))
        scored(len(batch))
    return np.concatenate(parts)


# Tokenizers of sacreBLEU that find words by spaces (and punctuation).
SPACE_TOKENIZERS = frozenset({"13a", "intl", "none"})
HIGHEST_ORDER = 100  # of n-grams: far beyond use, and far from what would fill the memory


def check_choice(setting: str, value: str, allowed: Iterable[str]) -> None:
    """Raise unless `value` is one of the allowed values of a setting."""
    choices = list(allowed)
    if value not in choices:
        raise AdequaError(
            f'"{value}" is not a value of {setting}; choose one of {", ".join(choices)}.'
            + nearest(value, choices)
        )


def check_between(setting: str, value: float, least: float, most: float) -> None:
    """Raise unless a number lies between two bounds; NaN does not."""
    if not least <= value <= most:
        raise AdequaError(f"{setting} must be from {least:g} to {most:g}, not {value:g}.")
