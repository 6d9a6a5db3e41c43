"""What the pairwise ranker sees of texts, by name and in any combination (Guzmán et al., 2015, §4).

An input is a metric of ours or the folder of a trained one, `4metrics`, `bleucomp`, a column of
scores beside the texts (`column:NAME`), or an encoder. Encoders of sentences give the vectors that
the hidden nodes look at. All else is scores of a hypothesis against its references, for the skip
arcs; that is also what encoders of pairs give.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from adequa.datasets.cache import cache_folder
from adequa.encoders.base import AnyEncoder, Encoder, PairEncoder
from adequa.encoders.cached import CachedEncoder, CachedPairEncoder, cached
from adequa.encoders.registry import ENCODERS, load_encoder
from adequa.errors import AdequaError
from adequa.learned.blend import column_scores
from adequa.learned.references import reduce_pairs
from adequa.metrics.batched import batched_statistics
from adequa.metrics.bleu_components import COLUMNS, bleu_components
from adequa.metrics.contract import Metric
from adequa.metrics.registry import in_full, load_metric
from adequa.remarks import Remark
from adequa.runtime.cache import VectorCache, text_key
from adequa.segments import FloatArray, Segments

# By the smallest and the largest number of a feature, or by its mean and its spread.
Scale: TypeAlias = Literal["range", "spread"]

_DEVIATIONS = 4.0  # of the mean that become 1, where numbers are scaled by their spread


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """What becomes 0, and how far from it what becomes 1 lies. Numbers beyond become -1 or 1."""

    centre: FloatArray
    reach: FloatArray

    @classmethod
    def of(cls, features: FloatArray, scale: Scale = "range") -> Scaling:
        """From the features of training data, shape (rows, features).

        A feature that is the same in all rows becomes 0 there.

        >>> Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]])).apply(np.array([[1.5, 6.0]])).tolist()
        [[-0.5, 1.0]]
        """
        if not len(features):
            return cls(np.zeros(features.shape[1]), np.ones(features.shape[1]))
        if scale == "range":
            low, high = features.min(axis=0), features.max(axis=0)
            centre, reach = (low + high) / 2, (high - low) / 2
        else:
            centre, reach = features.mean(axis=0), _DEVIATIONS * features.std(axis=0)
        return cls(np.asarray(centre, np.float64), np.where(reach > 0, reach, 1.0))

    def apply(self, features: FloatArray) -> FloatArray:
        """The features in the range."""
        return np.asarray(np.clip((features - self.centre) / self.reach, -1.0, 1.0))


FOUR_METRICS = ("sentbleu", "nist", "ter", "meteor")  # 4METRICS of the paper
GROUPS = {"4metrics": FOUR_METRICS}
BLEUCOMP, COLUMN = "bleucomp", "column:"
_CACHED = 1024  # segments between two writes: what an interruption costs
Scored = Callable[[int], None]  # told how many texts were just scored


class ScoreInput(ABC):
    """Scores of hypotheses against their references."""

    name: str  # as the user gives it, with paths in full
    count: int = 1  # scores a hypothesis

    @abstractmethod
    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        """Shape (segments, count); all segments are of one corpus."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What tells this input from another one, wherever its files lie."""

    def noticed(self) -> tuple[Remark, ...]:
        """What a user should know of the scores."""
        return ()


@dataclass(frozen=True)
class MetricInput(ScoreInput):
    """The segment scores of a metric; kept on disk where they do not depend on other segments."""

    name: str
    metric: Metric
    keep: bool = True

    @property
    def identity(self) -> str:
        return str(self.metric.segment_signature(None))

    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        if self.metric.needs_whole_corpus or self.metric.columns or not self.keep:
            return self._computed(segments, scored)
        keys = [
            text_key(text, *references)
            for text, references in zip(segments.hypotheses, segments.references, strict=True)
        ]
        digest = hashlib.sha256(self.identity.encode()).hexdigest()
        cache = VectorCache(cache_folder() / "inputs" / f"{digest}.db", self.count)
        found, there = cache.get(keys)
        missing = np.flatnonzero(~there)
        for start in range(0, len(missing), _CACHED):
            rows = missing[start : start + _CACHED]
            found[rows] = self._computed(segments.select(rows.tolist()), scored)
            cache.put([keys[row] for row in rows.tolist()], found[rows])
        return found.astype(np.float64)

    def _computed(self, segments: Segments, scored: Scored) -> FloatArray:
        statistics = batched_statistics(self.metric, segments, scored)
        single = self.metric.segment_scores(statistics).astype(np.float32)[:, None]
        return single.astype(np.float64)  # as the cache keeps them

    def noticed(self) -> tuple[Remark, ...]:
        return self.metric.noticed()


@dataclass(frozen=True)
class BleuComponents(ScoreInput):
    """BLEU taken apart, BLEUCOMP of the paper (§6.1)."""

    name: str = BLEUCOMP
    count: int = len(COLUMNS)
    identity: str = BLEUCOMP

    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        scored(len(segments))
        return bleu_components(segments)


@dataclass(frozen=True)
class ColumnInput(ScoreInput):
    """Scores that stand beside the texts."""

    name: str

    @property
    def column(self) -> str:
        """The column's own name."""
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
    """What an encoder of pairs says of hypothesis and reference; the best of several references."""

    name: str
    encoder: PairEncoder

    @property
    def count(self) -> int:  # type: ignore[override]  # a property in place of a field
        """Numbers a pair."""
        return self.encoder.dimension

    @property
    def identity(self) -> str:
        return self.encoder.fingerprint

    def scores(self, segments: Segments, scored: Scored) -> FloatArray:
        pairs = segments.pairs()
        vectors = self.encoder.encode_pairs(pairs.hypotheses, pairs.references)
        scored(len(segments))
        return reduce_pairs(vectors.astype(np.float64), pairs.segment, "best")

    def noticed(self) -> tuple[Remark, ...]:
        return self.encoder.noticed()


@dataclass(frozen=True)
class VectorInput:
    """Vectors of sentences."""

    name: str
    encoder: Encoder

    @property
    def identity(self) -> str:
        """What tells this input from another one, wherever its files lie."""
        return self.encoder.fingerprint

    def noticed(self) -> tuple[Remark, ...]:
        """What a user should know of the vectors."""
        return self.encoder.noticed()


AnyInput = ScoreInput | VectorInput


@dataclass(frozen=True)
class NamedInputs:
    """All inputs of a ranker, in the order in which the network has them."""

    inputs: tuple[AnyInput, ...]
    scores: tuple[ScoreInput, ...] = field(init=False)
    vectors: tuple[VectorInput, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", _of(ScoreInput, self.inputs))
        object.__setattr__(self, "vectors", _of(VectorInput, self.inputs))
        names = [each.name for each in self.inputs]
        if not names:
            raise AdequaError("A ranker needs an input, such as 4metrics or words:FILE.")
        for name in names:
            if names.count(name) > 1:
                raise AdequaError(f'The input "{name}" is given more than once.')

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns beside the texts that are read."""
        of_metrics = (
            column
            for each in self.scores
            if isinstance(each, MetricInput)
            for column in each.metric.columns
        )
        own = (each.column for each in self.scores if isinstance(each, ColumnInput))
        return tuple(dict.fromkeys((*own, *of_metrics)))

    def uncached(self) -> NamedInputs:
        """The same inputs, which neither read nor keep anything on disk."""
        return NamedInputs(tuple(map(_uncached, self.inputs)))

    def noticed(self) -> tuple[Remark, ...]:
        """What a user should know of the inputs."""
        return tuple(remark for each in self.inputs for remark in each.noticed())

    def scores_of(
        self,
        segments: Segments,
        corpora: Sequence[Sequence[int]],
        stage: Callable[[str], None],
        scored: Scored,
    ) -> FloatArray:
        """All scores, shape (segments, scores); `corpora` lists the rows of each corpus."""
        found = np.zeros((len(segments), sum(each.count for each in self.scores)))
        parts = [segments.select(rows) for rows in corpora]
        start = 0
        for each in self.scores:
            stage(f"Scoring with {each.name}")
            for rows, part in zip(corpora, parts, strict=True):
                found[list(rows), start : start + each.count] = each.scores(part, scored)
            start += each.count
        return found

    def vectors_of(self, texts: Sequence[str], stage: Callable[[str], None]) -> FloatArray:
        """The vectors of texts, one input after the other."""
        parts = [np.zeros((len(texts), 0))]
        for each in self.vectors:
            stage(f"Encoding with {each.encoder.name}")
            parts.append(each.encoder.encode(texts).astype(np.float64))
        return np.hstack(parts)


def named_inputs(names: Sequence[str], *, cache: bool = True) -> NamedInputs:
    """The inputs that command-line words name."""
    single = [part for name in names for part in GROUPS.get(name, (name,))]
    return NamedInputs(tuple(_input(name, cache) for name in single))


def _input(name: str, cache: bool) -> AnyInput:
    if name == BLEUCOMP:
        return BleuComponents()
    if name.startswith(COLUMN):
        return ColumnInput(name)
    kind = name.partition(":")[0]
    if kind in ENCODERS:
        return encoder_input(load_encoder(name), cache=cache)
    return MetricInput(in_full(name), load_metric(name), keep=cache)


def encoder_input(encoder: AnyEncoder, *, cache: bool = True) -> AnyInput:
    """An encoder as an input: vectors of sentences, or scores of pairs."""
    if isinstance(encoder, Encoder):
        return VectorInput(encoder.specification, cached(encoder) if cache else encoder)
    if isinstance(encoder, PairEncoder):
        return PairInput(encoder.specification, cached(encoder) if cache else encoder)
    raise TypeError(f"{encoder.name} encodes neither sentences nor pairs")


def _uncached(each: AnyInput) -> AnyInput:
    if isinstance(each, MetricInput):
        return replace(each, keep=False)
    if isinstance(each, VectorInput) and isinstance(each.encoder, CachedEncoder):
        return replace(each, encoder=each.encoder.encoder)
    if isinstance(each, PairInput) and isinstance(each.encoder, CachedPairEncoder):
        return replace(each, encoder=each.encoder.encoder)
    return each


def _of(kind: type, inputs: Sequence[AnyInput]) -> tuple:  # type: ignore[type-arg]
    return tuple(each for each in inputs if isinstance(each, kind))
