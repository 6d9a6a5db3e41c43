"""Where systems differ: scores on parts of the segments, from the same statistics.

Segments are split by length, overlap, rare words, numbers, names and documents. All of these but
documents come from references, and overlap from all systems together, so that a segment is in the
same bucket for every system.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from adequa.comparison.results import (
    Bucket,
    BucketScores,
    Dimension,
    MetricComparison,
    QualityBands,
)
from adequa.damage.entities import find_names
from adequa.metrics.edit_rates import word_overlap, word_splitter
from adequa.segments import FloatArray, IntArray
from adequa.statistics.paired import bootstrap_scores
from adequa.statistics.settings import ComparisonSettings

if TYPE_CHECKING:
    from adequa.comparison.compare import MetricStatistics, Outputs

MIN_SEGMENTS = 10  # of an interval: resamples of fewer vary too little
_MAX_RESAMPLES = 1000  # more add nothing to the intervals of a bucket

# Scripts without spaces between words, whose characters are taken as words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_LENGTHS = (10, 20, 30, 40, 60)  # words that a bucket ends with
_OVERLAPS = (0.2, 0.4, 0.6, 0.8)
_RARE = (0.1, 0.2, 0.3)
_MANY = 2  # numbers, names or unknown words, or more


def score_buckets(
    metrics: Sequence[MetricStatistics], features: Sequence[Feature], settings: ComparisonSettings
) -> tuple[Dimension, ...]:
    """Every metric's scores on every bucket of the segments."""
    return tuple(
        Dimension(
            feature.name,
            feature.title,
            tuple(
                # Buckets of one size do not share their random draws.
                Bucket(label, rows, _bucket_scores(metrics, rows, settings, [number, index]))
                for index, (label, rows) in enumerate(feature.buckets())
            ),
        )
        for number, feature in enumerate(features)
    )


def _bucket_scores(
    metrics: Sequence[MetricStatistics],
    rows: IntArray,
    settings: ComparisonSettings,
    stream: Sequence[int],
) -> tuple[BucketScores | None, ...]:
    """Scores on these rows, with intervals of the difference of each system from the first."""
    parts = [each.statistics[:, rows] for each in metrics if each.statistics is not None]
    resampled: Sequence[FloatArray | None] = [None] * len(parts)
    if parts and len(rows) >= MIN_SEGMENTS:
        functions = [each.score for each in metrics if each.statistics is not None]
        count = min(settings.resamples, _MAX_RESAMPLES)
        resampled = bootstrap_scores(parts, functions, count, [settings.seed, *stream])
    remaining = zip(parts, resampled, strict=True)
    return tuple(
        None if each.statistics is None else _interval_scores(each, settings, *next(remaining))
        for each in metrics
    )


def _interval_scores(
    metric: MetricStatistics,
    settings: ComparisonSettings,
    statistics: FloatArray,
    resampled: FloatArray | None,
) -> BucketScores:
    sign, scores = metric.source.sign, metric.score(statistics.sum(axis=1))
    low = high = np.full(len(scores), np.nan)
    if resampled is not None:
        tails = [(1 - settings.confidence) / 2, (1 + settings.confidence) / 2]
        low, high = np.nanquantile(sign * (resampled - resampled[0]), tails, axis=1)
    return BucketScores(sign * scores, low, high)


def quality_bands(metric: MetricComparison) -> QualityBands | None:
    """The fraction of each system's segments in bands of score; None without segment scores.

    Bands end at the quartiles of the segment scores of all systems together, so that a quarter of
    all outputs is in each, and the systems that have more good ones than others stand out. Scores
    equal to an edge are in the better band. Equal quartiles make fewer bands.
    """
    if metric.segments is None:
        return None
    scores = metric.sign * metric.segments
    quartiles = np.quantile(scores, [0.25, 0.5, 0.75], method="inverted_cdf")
    edges = np.unique(quartiles[quartiles > scores.min()])
    codes = np.searchsorted(edges, scores, side="right")
    fractions = np.stack([(codes == band).mean(axis=1) for band in range(len(edges) + 1)], axis=1)
    return QualityBands(metric.sign * edges, fractions)


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """One way to split the segments: a label for each of them, and the order of labels."""

    name: str
    title: str
    labels: tuple[str, ...]
    codes: IntArray  # index of each segment's label

    def buckets(self) -> list[tuple[str, IntArray]]:
        """Every label that any segment has, and the segments that have it."""
        order = np.argsort(self.codes, kind="stable")
        codes, starts = np.unique(self.codes[order], return_index=True)
        rows = np.split(order, starts[1:])
        return [(self.labels[code], of) for code, of in zip(codes.tolist(), rows, strict=True)]


def vocabulary(outputs: Outputs, texts: Iterable[str]) -> Counter[str]:
    """The words of texts with their counts, tokenized as the references of these outputs are."""
    split = word_splitter(tokenizer_of(outputs.references), lowercase=False)
    return Counter(word for text in texts for word in split(text))


def segment_features(
    outputs: Outputs, known_words: Iterable[str] | None = None
) -> tuple[Feature, ...]:
    """Every way to split these segments that yields more than one bucket."""
    features = _reference_features(outputs, known_words) if outputs.has_references else []
    if outputs.documents is not None:
        documents = tuple(dict.fromkeys(outputs.documents))
        code_of = {document: code for code, document in enumerate(documents)}
        codes = np.array([code_of[document] for document in outputs.documents], dtype=np.intp)
        features.append(Feature("document", "Document", documents, codes))
    return tuple(feature for feature in features if len(feature.buckets()) > 1)


def _reference_features(outputs: Outputs, known_words: Iterable[str] | None) -> list[Feature]:
    tokenizer = tokenizer_of(outputs.references)
    split = word_splitter(tokenizer, lowercase=True)
    references = [split(texts[0]) for texts in outputs.references]
    first = [texts[0] for texts in outputs.references]
    features = [
        _by_length(references, "characters" if tokenizer == "char" else "words"),
        _by_overlap(outputs, split),
        _by_rare_words(references),
        _by_count("numbers", "Numbers", (len(_NUMBER.findall(text)) for text in first)),
        _by_count("names", "Names", (len(find_names(text)) for text in first)),
    ]
    if known_words is not None:
        known = {word.lower() for word in known_words}
        unknown = (sum(word not in known for word in _with_letters(words)) for words in references)
        features.append(_by_count("unknown", "Unknown words", unknown))
    return features


def tokenizer_of(references: Sequence[Sequence[str]]) -> str:
    """The tokenizer for texts: words, or characters where the script has no spaces.

    >>> tokenizer_of([("A cat sat.",)]), tokenizer_of([("猫が座った。",)])
    ('13a', 'char')
    """
    text = "".join(texts[0] for texts in references)
    unspaced, letters = len(_UNSPACED.findall(text)), len(_LETTER.findall(text))
    return "char" if 2 * unspaced > letters else "13a"


def _by_length(references: Sequence[Sequence[str]], unit: str) -> Feature:
    lengths = np.array([len(words) for words in references])
    starts = (1, *(end + 1 for end in _LENGTHS))
    labels = (
        *(f"{low}–{high} {unit}" for low, high in zip(starts, _LENGTHS, strict=False)),
        f"{starts[-1]} {unit} or more",
    )
    codes = np.searchsorted(_LENGTHS, lengths, side="left").astype(np.intp)
    return Feature("length", "Reference length", labels, codes)


def _by_overlap(outputs: Outputs, split: Callable[[str], list[str]]) -> Feature:
    """By the words that outputs share with their nearest reference, mean over systems."""
    overlaps = np.zeros(len(outputs))
    words = [[split(text) for text in texts] for texts in outputs.references]
    for hypotheses in outputs.hypotheses:
        overlaps += [
            max(word_overlap(split(text), reference) for reference in texts)
            for text, texts in zip(hypotheses, words, strict=True)
        ]
    means = overlaps / len(outputs.names) + 1e-12  # a sum just below an edge is rounding
    codes = np.searchsorted(_OVERLAPS, means, side="right").astype(np.intp)
    return Feature("overlap", "Overlap with reference", _percentages(_OVERLAPS), codes)


def _by_rare_words(references: Sequence[Sequence[str]]) -> Feature:
    """By the fraction of words that no other of the references has."""
    counts = Counter(word for words in references for word in set(words))
    fractions = np.array(
        [
            sum(counts[word] == 1 for word in _with_letters(words)) / max(len(words), 1)
            for words in references
        ]
    )
    codes = np.where(fractions > 0, 1 + np.searchsorted(_RARE, fractions, side="right"), 0)
    labels = ("none", *_percentages(_RARE))
    return Feature("rare", "Rare words", labels, codes.astype(np.intp))


def _by_count(name: str, title: str, counts: Iterable[int]) -> Feature:
    labels = ("none", "one", "two or more")
    codes = np.minimum(np.fromiter(counts, dtype=np.intp), _MANY)
    return Feature(name, title, labels, codes)


def _percentages(edges: Sequence[float]) -> tuple[str, ...]:
    """Labels of the intervals between edges.

    >>> _percentages([0.2, 0.5])
    ('under 20%', '20–50%', '50% or more')
    """
    percent = [f"{100 * edge:g}" for edge in edges]
    between = (f"{low}–{high}%" for low, high in pairwise(percent))
    return (f"under {percent[0]}%", *between, f"{percent[-1]}% or more")


def _with_letters(words: Sequence[str]) -> list[str]:
    return [word for word in words if _LETTER.search(word)]
