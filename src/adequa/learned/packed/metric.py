"""The packed metric: a trained pair regressor that scores with onnxruntime, without PyTorch.

Its folder holds the network as `model.onnx`, its tokenizer, and in metric.json the weights of
surface features and the map from raw scores to 0–1. Two scores are set by rule: a hypothesis that
is its reference word for word scores 1, and one without visible text scores 0. All others lie
strictly between.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from adequa.encoders.surface import SURFACE, surface_features
from adequa.errors import AdequaError
from adequa.metrics.base import MeanMetric, Remark, check_between, check_choice, plain_remarks
from adequa.metrics.english import count_foreign, foreign_remark, visible_words
from adequa.metrics.registry import check_settings, whole_number
from adequa.metrics.saved import DIGITS, Description
from adequa.metrics.saved import load as load_saved
from adequa.pretrained import SHIPPED, lacks_weights
from adequa.runtime.batching import distinct
from adequa.runtime.cache import RecentScores, ScoreCache, lookup_or_compute, text_key
from adequa.runtime.onnx import (
    MODEL,
    TOKENIZER,
    Device,
    PairScores,
    PairSession,
    kernel_fields,
)
from adequa.runtime.tokens import Pair
from adequa.segments import LARGEST_SCORE, FloatArray, Reduction, Segments, reduce_pairs
from adequa.version import __version__

DECIMALS = 3  # shown to readers: the fourth differs between processors
MAX_THREADS = 1024  # far beyond use, and far from what a system refuses
# Part of the cache key. Raised when the same model reads a pair differently, such as in other
# windows, so that scores cached before are not used.
_READING_VERSION = 3

BEND = 0.05  # width of the bent part at either end of the range
EDGE = 1e-6  # scores stay this far inside the range, whatever rounding does


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """The map from raw scores of a model to scores between 0 and 1.

    It is a straight line, so that differences keep their size: 0 at the raw score of a text that is
    unrelated to the reference, and 1 at that of the reference itself. As single texts go beyond
    either, the line is bent near its ends, without a corner, and scores stay inside the range; the
    two raw scores themselves become 0.018 and 0.982. The order of scores is kept, until about half
    the length of the line beyond its ends: from there on all scores are equal.

    >>> ScoreMap(unrelated=-2.0, reference=2.0)(np.array([-2.0, -1.0, 0.0, 1.0, 2.0])).round(3)
    array([0.018, 0.25 , 0.5  , 0.75 , 0.982])
    """

    unrelated: float
    reference: float

    def __post_init__(self) -> None:
        if not -LARGEST_SCORE <= self.unrelated < self.reference <= LARGEST_SCORE:
            raise ValueError(f"the map of scores is from {self.unrelated} to {self.reference}")

    def __call__(self, raw: FloatArray) -> FloatArray:
        """Map raw scores to scores strictly between 0 and 1."""
        line = (raw - self.unrelated) / (self.reference - self.unrelated)
        return np.clip(bend(line), EDGE, 1 - EDGE)


def bend(x: FloatArray) -> FloatArray:
    """Return x where it is well inside 0–1, and bend it near 0 and 1 so that it stays inside.

    With b for `BEND`: x from b to 1 - b, above that 1 - b + b (1 - exp(-(x - 1 + b) / b)), and
    below b exp((x - b) / b). Values and slopes agree where the parts meet.

    >>> bend(np.array([-1.0, 0.05, 0.3, 0.95, 1.0])).round(4)
    array([0.    , 0.05  , 0.3   , 0.95  , 0.9816])
    """
    above = np.maximum(x - (1 - BEND), 0)
    below = np.minimum(x - BEND, 0)
    ends = np.expm1(below / BEND) - np.expm1(-above / BEND)
    return np.asarray(np.clip(x, BEND, 1 - BEND) + BEND * ends)


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceWeights:
    """The linear term of surface features in a raw score, standardisation folded in."""

    names: tuple[str, ...]  # of the features
    weights: FloatArray
    offset: float

    @classmethod
    def from_table(cls, table: Mapping[str, Any], folder: Path) -> SurfaceWeights:
        """Read the table of metric.json, of some or all of the features."""
        names, offset = tuple(map(str, table["names"])), float(table["offset"])
        weights = np.array(table["weights"], dtype=np.float64)
        unknown = [name for name in names if name not in SURFACE]
        if unknown:
            raise AdequaError(
                f"{folder} was made with surface features that this version of adequa does not "
                f"have: {', '.join(unknown)}."
            )
        if weights.shape != (len(names),):
            raise ValueError("not one weight for each surface feature")
        if not (np.abs([*weights, offset]) <= LARGEST_SCORE).all():  # which NaN is not
            raise ValueError("a weight of a surface feature is no usable number")
        return cls(names, weights, offset)

    def table(self) -> dict[str, Any]:
        """Return the table of metric.json."""
        return {
            "names": list(self.names),
            "weights": self.weights.tolist(),
            "offset": self.offset,
        }

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> FloatArray:
        """Return the term of each pair; summed row by row, so that neighbours change no bit."""
        rows = surface_features(hypotheses, references, self.names).astype(np.float64)
        return np.asarray((rows * self.weights).sum(axis=1) + self.offset)


@dataclass(eq=False)
class PackedPair(MeanMetric):
    """A packed metric of a folder; `adequa.load_metric` loads one."""

    folder: Path
    name: str
    score_map: ScoreMap
    surface: SurfaceWeights | None = None
    lowercase: bool = False  # the texts, before the tokenizer reads them
    references: Reduction = "best"
    edition: int | None = None  # None: the first, or a metric without editions
    device: Device = "cpu"
    threads: int | None = None  # None: as many as CPUs
    digest_: str = field(default="", repr=False)  # of all that makes a score
    model_digest_: str = field(default="", repr=False)  # of all that makes a raw score

    kind: ClassVar[str] = "packed-pair"
    higher_is_better = True
    range = (0.0, 1.0)
    decimals = DECIMALS
    caches_scores = True

    # Counts over all calls: pairs read in windows, hypotheses not in English, all hypotheses.
    too_long_: int = field(default=0, init=False)
    foreign_: int = field(default=0, init=False)
    seen_: int = field(default=0, init=False)
    _recent: RecentScores = field(default_factory=RecentScores, init=False, repr=False)
    _cache: ScoreCache | None = field(default=None, init=False, repr=False)

    @classmethod
    def from_saved(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> PackedPair:
        """Load the metric of a folder; its model is opened when there is something to score."""
        del arrays  # the weights are in the model
        check_settings(folder, settings, ("device", "references", "threads"))
        stored, files = description.settings, description.files
        device = settings.get("device", "cpu")
        references = settings.get("references", stored["references"])
        check_choice("device", device, get_args(Device))
        check_choice("references", references, get_args(Reduction))
        threads = settings.get("threads")
        if threads is not None:
            check_between("threads", whole_number("threads", threads), 1, MAX_THREADS)
        surface, edition = stored["surface"], stored.get("edition")
        return cls(
            folder=folder,
            name=description.name,
            score_map=ScoreMap(**stored["map"]),
            surface=None if surface is None else SurfaceWeights.from_table(surface, folder),
            lowercase=stored["lowercase"],
            references="best" if references == "best" else "mean",
            edition=None if edition is None else int(edition),
            device="cuda" if device == "cuda" else "cpu",
            threads=None if threads is None else int(threads),
            digest_=_digest(
                sorted(files.items()), [stored[key] for key in ("surface", "map", "lowercase")]
            ),
            model_digest_=_digest(files[MODEL], files[TOKENIZER], _READING_VERSION),
        )

    @cached_property
    def session(self) -> PairSession:
        """The open model. A run whose scores are all cached never opens it."""
        return PairSession.open(self.folder, device=self.device, threads=self.threads)

    def enable_cache(self, file: Path, limit: int) -> None:
        self._cache = ScoreCache(file, limit)

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        foreign, seen = count_foreign(segments.hypotheses)
        self.foreign_ += foreign
        self.seen_ += seen
        all_pairs = segments.pairs()
        pairs, inverse = distinct(
            [
                (reference.strip(), hypothesis.strip())
                for reference, hypothesis in zip(
                    all_pairs.references, all_pairs.hypotheses, strict=True
                )
            ]
        )
        scores = np.array([score_by_rule(*pair) for pair in pairs])
        unscored = np.flatnonzero(np.isnan(scores))
        if len(unscored):
            rest = [pairs[row] for row in unscored.tolist()]
            raw = raw_scores(rest, self._model_scores, self.surface, lowercase=self.lowercase)
            scores[unscored] = self.score_map(raw.scores)
            # Repeated pairs count each time, so that the count does not depend on batches.
            counts = np.bincount(inverse, minlength=len(pairs))[unscored]
            self.too_long_ += int(counts[raw.windows > 1].sum())
        return reduce_pairs(scores[inverse], all_pairs.segment, self.references)

    def _model_scores(self, pairs: list[Pair]) -> PairScores:
        """Return the scores of the model: from memory, from the cache on disk, or computed."""
        # What computes the scores is part of the key, because others round differently.
        kernels = "|".join(chain.from_iterable(kernel_fields(self.device)))
        keys = [text_key(self.model_digest_, kernels, *pair) for pair in pairs]

        def cached_or_computed(rows: Sequence[int]) -> PairScores:
            missing = [pairs[row] for row in rows]
            if self._cache is None:
                return self.session.score(missing)
            return lookup_or_compute(
                self._cache,
                [keys[row] for row in rows],
                lambda inner: self.session.score([missing[row] for row in inner]),
            )

        return lookup_or_compute(self._recent, keys, cached_or_computed)

    def counted_remarks(self) -> tuple[Remark, ...]:
        remarks = [foreign_remark(self.name, self.foreign_, self.seen_)]
        if self.too_long_:  # otherwise the model need not be open
            remarks.insert(0, _windows_remark(self.name, self.too_long_, self.session))
        return (*remarks, *plain_remarks(() if self._cache is None else self._cache.notes))

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        edition = () if self.edition is None else (("edition", str(self.edition)),)
        return (
            *edition,
            ("references", self.references),
            ("weights", self.digest_[:DIGITS]),
            *kernel_fields(self.device),
            ("version", __version__),
        )


# Not slotted: the opened metric is stored beside the settings, which never change.
@dataclass(frozen=True)
class ShippedMetric(MeanMetric):
    """A packed metric that ships with adequa, in the folder of its name."""

    device: str = "cpu"
    references: str = "best"
    threads: int | None = None

    higher_is_better = True
    range = (0.0, 1.0)
    decimals = DECIMALS
    caches_scores = True
    languages = frozenset({"en"})
    choices = {"device": get_args(Device), "references": get_args(Reduction)}  # noqa: RUF012

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threads is not None:
            check_between("threads", self.threads, 1, MAX_THREADS)

    @property
    def folder(self) -> Path:
        """The folder of the shipped weights."""
        return SHIPPED[self.name]

    @cached_property
    def packed(self) -> PackedPair:
        """The packed metric of the shipped folder, with these settings."""
        if lacks_weights(self.name):
            raise AdequaError(
                f"This copy of adequa was built without the weights of {self.name}: install it "
                "from a release, or name other metrics, such as -m bleu -m chrf."
            )
        settings = {"device": self.device, "references": self.references}
        if self.threads is not None:
            settings["threads"] = str(self.threads)
        return load_saved(str(self.folder), settings)  # type: ignore[return-value]

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        return self.packed.compute_segment_scores(segments)

    def enable_cache(self, file: Path, limit: int) -> None:
        self.packed.enable_cache(file, limit)

    def counted_remarks(self) -> tuple[Remark, ...]:
        return self.packed.counted_remarks()

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return self.packed.signature_fields()


@dataclass(frozen=True)
class Adequa(ShippedMetric):
    """The metric that ships with adequa: the quality of a translation into English, from 0 to 1.

    A small transformer, trained on human judgements, reads hypothesis and reference together. The
    reference itself scores 1 and an empty text 0; the card beside the weights (README.md) says what
    lies between, and how well the scores agree with people. Of multiple references the best score
    counts, or the mean. By default there are as many threads as CPUs.
    """

    name = "adequa"


@dataclass(frozen=True)
class AdequaFast(ShippedMetric):
    """A smaller and faster metric beside `adequa`, for corpora and long lists of candidates.

    It learnt the scores of larger metrics, and its scores mean the same: the quality of a
    translation into English, from 0 to 1. They agree with people somewhat less often; the card
    beside the weights (README.md) has the figures. The settings are those of `adequa`.
    """

    name = "adequa-fast"


@dataclass(frozen=True)
class Adequa1(ShippedMetric):
    """The first edition of `adequa`, with its weights, scores and settings as they were.

    It is for getting scores again that were made with it, and for judgements of earlier years that
    later editions were trained on.
    """

    name = "adequa-1"


def raw_scores(
    pairs: Sequence[Pair],
    score: Callable[[list[Pair]], PairScores],
    surface: SurfaceWeights | None,
    *,
    lowercase: bool,
) -> PairScores:
    """Return the raw scores of pairs: the model's score plus the term of surface features.

    The reference comes first in a pair, as in the network's training.
    """
    inputs, inverse = distinct(model_inputs(pairs, lowercase=lowercase))
    raw = score(inputs).at(inverse)
    if surface is None:
        return raw
    references, hypotheses = zip(*pairs, strict=True)
    return replace(raw, scores=raw.scores + surface(hypotheses, references))


def model_inputs(pairs: Sequence[Pair], *, lowercase: bool) -> list[Pair]:
    """Return pairs as the tokenizer reads them."""
    return [(one.lower(), other.lower()) for one, other in pairs] if lowercase else list(pairs)


def score_by_rule(reference: str, hypothesis: str) -> float:
    """Return 1 for the reference itself, 0 for a text without words, and NaN for all others.

    >>> score_by_rule("so it\\nis", "so  it is"), score_by_rule("so it is", "")
    (1.0, 0.0)
    >>> score_by_rule("so it is", "so")
    nan
    """
    words = visible_words(hypothesis)
    if words == visible_words(reference):
        return 1.0
    return float("nan") if words else 0.0


def _windows_remark(name: str, count: int, session: PairSession) -> Remark:
    singular, plural = (
        f" {pairs} of hypothesis and reference in windows, as they are longer than "
        f"{session.tokenizer.max_length} tokens."
        for pairs in ("pair", "pairs")
    )
    return Remark((f"{name} read ", plural), (f"{name} read ", singular), (count,))


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
