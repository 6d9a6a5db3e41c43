"""The inputs of the pairwise ranker, by name and in any combination (Guzmán et al., 2015, §4).

Two kinds of inputs describe a text. Sentence encoders give the vectors that the hidden nodes see.
Everything else gives scores of a hypothesis against its references, for the skip arcs: a metric or
the folder of a trained one, `4metrics`, `bleucomp`, an encoder of pairs, or a column of the data
(`column:NAME`). All numbers are scaled to the range from -1 to 1 before the network sees them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from adequa.encoders.base import (
    AnyEncoder,
    CachedEncoder,
    CachedPairEncoder,
    Encoder,
    PairEncoder,
    cached,
)
from adequa.encoders.registry import ENCODERS, load_encoder
from adequa.errors import AdequaError
from adequa.io.storage import cache_folder
from adequa.learned.blend import column_scores
from adequa.metrics.base import Metric, Remark, batched_statistics, plain_remarks
from adequa.metrics.registry import load_metric, with_absolute_paths
from adequa.metrics.sacrebleu_metrics import COLUMNS, bleu_components
from adequa.runtime.cache import VectorCache, text_key
from adequa.segments import FloatArray, Segments, reduce_pairs

FOUR_METRICS = ("sentbleu", "nist", "ter", "meteor")  # 4METRICS of the paper
GROUPS = {"4metrics": FOUR_METRICS}
BLEUCOMP, COLUMN = "bleucomp", "column:"
_CACHE_CHUNK = 1024  # segments between two writes: what an interruption costs
Scored = Callable[[int], None]  # called with the number of texts just scored


class ScoreInput(ABC):
    """An input that scores hypotheses against their references."""

    name: str  # as on the command line, with full paths
    count: int = 1  # number of scores of a hypothesis

    @abstractmethod
    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        """Return the scores of segments of one corpus, shape (segments, count)."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """A text that is equal for equal inputs, wherever their files are stored."""

    def counted_remarks(self) -> tuple[Remark, ...]:
        """Return remarks for the user about the texts scored so far."""
        return ()


@dataclass(frozen=True)
class MetricInput(ScoreInput):
    """Segment scores of a metric; cached on disk if they do not depend on other segments."""

    name: str
    metric: Metric
    cache: bool = True

    @property
    def identity(self) -> str:
        return str(self.metric.segment_signature(None))

    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        if self.metric.needs_whole_corpus or self.metric.columns or not self.cache:
            return self._compute(segments, scored)
        keys = [
            text_key(text, *references)
            for text, references in zip(segments.hypotheses, segments.references, strict=True)
        ]
        cache = self._vectors
        scores, is_cached = cache.get(keys)
        missing = np.flatnonzero(~is_cached)
        for start in range(0, len(missing), _CACHE_CHUNK):
            rows = missing[start : start + _CACHE_CHUNK]
            scores[rows] = self._compute(segments.select(rows.tolist()), scored)
            cache.put([keys[row] for row in rows.tolist()], scores[rows])
        return scores.astype(np.float64)

    @cached_property
    def _vectors(self) -> VectorCache:
        digest = hashlib.sha256(self.identity.encode()).hexdigest()
        return VectorCache(cache_folder() / "inputs" / f"{digest}.db", self.count)

    def _compute(self, segments: Segments, scored: Scored) -> FloatArray:
        statistics = batched_statistics(self.metric, segments, scored)
        scores = self.metric.segment_scores(statistics)[:, None]
        return scores.astype(np.float32).astype(np.float64)  # the precision of the cache

    def counted_remarks(self) -> tuple[Remark, ...]:
        return (*self.metric.counted_remarks(), *plain_remarks(self._vectors.notes))


@dataclass(frozen=True)
class BleuComponents(ScoreInput):
    """The components of BLEU: BLEUCOMP of the paper (§6.1)."""

    name: str = BLEUCOMP
    count: int = len(COLUMNS)
    identity: str = BLEUCOMP

    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        scored(len(segments))
        return bleu_components(segments)


@dataclass(frozen=True)
class ColumnInput(ScoreInput):
    """Scores in a column of the data."""

    name: str

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.name.removeprefix(COLUMN)

    @property
    def identity(self) -> str:
        return self.name

    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        if self.column not in segments.ids:
            raise AdequaError(
                f'The ranker needs scores in a column "{self.column}" beside the texts; there is '
                f"none. Columns: {', '.join(segments.ids) or 'none'}."
            )
        scored(len(segments))
        return column_scores(self.column, segments.ids[self.column])[:, None]


@dataclass(frozen=True)
class PairInput(ScoreInput):
    """Features of an encoder of pairs (hypothesis, reference); the best over the references."""

    name: str
    encoder: PairEncoder

    @property
    def count(self) -> int:  # type: ignore[override]  # a property in place of a field
        """Number of features of a pair."""
        return self.encoder.dimension

    @property
    def identity(self) -> str:
        return self.encoder.fingerprint

    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        pairs = segments.pairs()
        vectors = self.encoder.encode_pairs(pairs.hypotheses, pairs.references)
        scored(len(segments))
        return reduce_pairs(vectors.astype(np.float64), pairs.segment, "best")

    def counted_remarks(self) -> tuple[Remark, ...]:
        return self.encoder.counted_remarks()


@dataclass(frozen=True)
class VectorInput:
    """An input that encodes sentences as vectors."""

    name: str
    encoder: Encoder

    @property
    def identity(self) -> str:
        """A text that is equal for equal inputs, wherever their files are stored."""
        return self.encoder.fingerprint

    def counted_remarks(self) -> tuple[Remark, ...]:
        """Return remarks for the user about the texts encoded so far."""
        return self.encoder.counted_remarks()


AnyInput = ScoreInput | VectorInput


@dataclass(frozen=True)
class RankerInputs:
    """All inputs of a ranker, in the order of their features."""

    inputs: tuple[AnyInput, ...]
    scores: tuple[ScoreInput, ...] = field(init=False)
    vectors: tuple[VectorInput, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", _instances(ScoreInput, self.inputs))
        object.__setattr__(self, "vectors", _instances(VectorInput, self.inputs))
        names = [each.name for each in self.inputs]
        if not names:
            raise AdequaError("A ranker needs an input, such as 4metrics or words:FILE.")
        for name in names:
            if names.count(name) > 1:
                raise AdequaError(f'The input "{name}" is given more than once.')
        for each in self.scores:
            if isinstance(each, MetricInput) and "source" in each.metric.reads:
                raise AdequaError(
                    f"{each.name} reads sources, and a pairwise ranker compares by references "
                    "alone; name an input that reads no sources."
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data that the inputs read."""
        metric_columns = (
            column
            for each in self.scores
            if isinstance(each, MetricInput)
            for column in each.metric.columns
        )
        score_columns = (each.column for each in self.scores if isinstance(each, ColumnInput))
        return tuple(dict.fromkeys((*score_columns, *metric_columns)))

    def uncached(self) -> RankerInputs:
        """Return these inputs without caches on disk."""
        return RankerInputs(tuple(map(_uncached, self.inputs)))

    def counted_remarks(self) -> tuple[Remark, ...]:
        """Return remarks for the user from all inputs."""
        return tuple(remark for each in self.inputs for remark in each.counted_remarks())

    def compute_scores(
        self,
        segments: Segments,
        corpora: Sequence[Sequence[int]],
        stage: Callable[[str], None],
        scored: Scored,
    ) -> FloatArray:
        """Return all scores, shape (segments, scores); `corpora` has the rows of each corpus."""
        scores = np.zeros((len(segments), sum(each.count for each in self.scores)))
        parts = [segments.select(rows) for rows in corpora]
        start = 0
        for each in self.scores:
            stage(f"Scoring with {each.name}")
            for rows, part in zip(corpora, parts, strict=True):
                scores[list(rows), start : start + each.count] = each.scores(part, scored)
            start += each.count
        return scores

    def encode(self, texts: Sequence[str], stage: Callable[[str], None]) -> FloatArray:
        """Return the vectors of texts from all encoders, side by side."""
        parts = [np.zeros((len(texts), 0))]
        for each in self.vectors:
            stage(f"Encoding with {each.encoder.name}")
            parts.append(each.encoder.encode(texts).astype(np.float64))
        return np.hstack(parts)


def load_inputs(
    names: Sequence[str], *, cache: bool = True, download: bool = False
) -> RankerInputs:
    """Return the inputs with these names, which are those of the command line."""
    expanded = [part for name in names for part in GROUPS.get(name, (name,))]
    return RankerInputs(tuple(_load_input(name, cache, download) for name in expanded))


def _load_input(name: str, cache: bool, download: bool) -> AnyInput:
    if name == BLEUCOMP:
        return BleuComponents()
    if name.startswith(COLUMN):
        return ColumnInput(name)
    kind = name.partition(":")[0]
    if kind in ENCODERS:
        return encoder_input(load_encoder(name, download=download), cache=cache)
    return MetricInput(with_absolute_paths(name), load_metric(name), cache=cache)


def encoder_input(encoder: AnyEncoder, *, cache: bool = True) -> AnyInput:
    """Return an encoder as an input: vectors of sentences, or scores of pairs."""
    if isinstance(encoder, Encoder):
        return VectorInput(encoder.specification, cached(encoder) if cache else encoder)
    if isinstance(encoder, PairEncoder):
        return PairInput(encoder.specification, cached(encoder) if cache else encoder)
    raise TypeError(f"{encoder.name} encodes neither sentences nor pairs")


def _uncached(each: AnyInput) -> AnyInput:
    if isinstance(each, MetricInput):
        return replace(each, cache=False)
    if isinstance(each, VectorInput) and isinstance(each.encoder, CachedEncoder):
        return replace(each, encoder=each.encoder.encoder)
    if isinstance(each, PairInput) and isinstance(each.encoder, CachedPairEncoder):
        return replace(each, encoder=each.encoder.encoder)
    return each


def _instances(kind: type, inputs: Sequence[AnyInput]) -> tuple:  # type: ignore[type-arg]
    return tuple(each for each in inputs if isinstance(each, kind))


# Scaling (§4.4) ----------------------------------------------------------------------------------

# By the minimum and maximum of a feature, or by its mean and standard deviation.
Scale: TypeAlias = Literal["range", "spread"]

_DEVIATIONS = 4.0  # standard deviations from the mean that become 1


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """A linear map of every feature: `centre` to 0, `centre` ± `half_width` to ±1, then clipped."""

    centre: FloatArray
    half_width: FloatArray

    @classmethod
    def fit(cls, features: FloatArray, scale: Scale = "range") -> Scaling:
        """Return the scaling of training data, shape (rows, features).

        A feature that is constant there becomes 0.

        >>> Scaling.fit(np.array([[1.0, 5.0], [3.0, 5.0]])).apply(np.array([[1.5, 6.0]])).tolist()
        [[-0.5, 1.0]]
        """
        if not len(features):
            return cls(np.zeros(features.shape[1]), np.ones(features.shape[1]))
        if scale == "range":
            low, high = features.min(axis=0), features.max(axis=0)
            centre, half_width = (low + high) / 2, (high - low) / 2
        else:
            centre, half_width = features.mean(axis=0), _DEVIATIONS * features.std(axis=0)
        return cls(np.asarray(centre, np.float64), np.where(half_width > 0, half_width, 1.0))

    def apply(self, features: FloatArray) -> FloatArray:
        """Return scaled features, from -1 to 1."""
        with np.errstate(over="ignore"):  # what is far beyond the training data is clipped
            scaled = (features - self.centre) / self.half_width
        return np.asarray(np.clip(scaled, -1.0, 1.0))
