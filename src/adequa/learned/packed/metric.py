"""A packed metric: a trained pair regressor that scores with onnxruntime, without PyTorch.

Its folder holds the network as `model.onnx`, its tokenizer, and in metric.json what else a score is
made of: the weights of surface features, and the map from raw scores to 0–1. Two laws hold by rule
and not by training: a hypothesis that is its reference word for word scores 1, and one without
anything to see in it 0. All others lie between.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, get_args
from unicodedata import category, normalize

import numpy as np

from adequa.encoders.surface import SURFACE, surface_features
from adequa.errors import AdequaError
from adequa.learned.packed.score_map import ScoreMap
from adequa.learned.references import Reduction, reduce_pairs
from adequa.metrics.contract import MeanMetric
from adequa.metrics.english import looks_foreign
from adequa.metrics.registry import check_between, check_choice, check_settings, whole_number
from adequa.metrics.saved import DIGITS, Description
from adequa.remarks import Remark, plain
from adequa.runtime.batches import distinct
from adequa.runtime.kept_scores import through
from adequa.runtime.onnx_model import Device
from adequa.runtime.pair_scores import Pair, PairScores
from adequa.runtime.pair_session import MODEL, TOKENIZER, PairSession
from adequa.runtime.recent_scores import RecentScores
from adequa.runtime.score_cache import ScoreCache
from adequa.segments import FloatArray, Segments
from adequa.version import __version__

MOST_THREADS = 1024  # far beyond use, and far from what a system refuses
# Raised when the same model would be given a pair otherwise, such as in other windows: what was
# kept on disk before is then of no use.
_READING = 3


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceWeights:
    """What surface features add to a raw score: their standardisation is part of the weights."""

    weights: FloatArray
    offset: float

    @classmethod
    def of(cls, table: Mapping[str, Any], folder: Path) -> SurfaceWeights:
        """From the table of metric.json."""
        if list(table["names"]) != list(SURFACE):
            raise AdequaError(
                f"{folder} was made with other surface features than this version of adequa has: "
                f"{', '.join(map(str, table['names']))}."
            )
        weights, offset = np.array(table["weights"], np.float64), float(table["offset"])
        if weights.shape != (len(SURFACE),) or not np.isfinite([*weights, offset]).all():
            raise ValueError("the weights of surface features are not one number each")
        return cls(weights, offset)

    def table(self) -> dict[str, Any]:
        """The table of metric.json."""
        return {
            "names": list(SURFACE),
            "weights": self.weights.tolist(),
            "offset": self.offset,
        }

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> FloatArray:
        """What is added for each pair; summed row by row, so that neighbours change no bit."""
        rows = surface_features(hypotheses, references).astype(np.float64)
        return np.asarray((rows * self.weights).sum(axis=1) + self.offset)


@dataclass(eq=False)
class PackedPair(MeanMetric):
    """A packed metric from its folder; `adequa.load_metric` loads one."""

    folder: Path
    name: str
    score_map: ScoreMap
    surface: SurfaceWeights | None = None
    lowercase: bool = False  # the texts, before the tokenizer sees them
    references: Reduction = "best"
    device: Device = "cpu"
    threads: int | None = None  # as many as CPUs where None
    digest_: str = field(default="", repr=False)  # of all that makes a score
    model_digest_: str = field(default="", repr=False)  # of all that makes a raw one

    kind: ClassVar[str] = "packed-pair"
    higher_is_better = True
    range = (0.0, 1.0)

    # Over all calls: pairs that were read in windows, hypotheses that are no English, and all.
    too_long_: int = field(default=0, init=False)
    foreign_: int = field(default=0, init=False)
    seen_: int = field(default=0, init=False)
    _recent: RecentScores = field(default_factory=RecentScores, init=False, repr=False)
    _disk: ScoreCache | None = field(default=None, init=False, repr=False)

    @classmethod
    def load(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> PackedPair:
        """The metric of a folder; its model is opened when there is something to score."""
        del arrays  # the weights are in the model
        check_settings(folder, settings, ("device", "references", "threads"))
        kept, files = description.settings, description.files
        if not {MODEL, TOKENIZER} <= {*files} or not isinstance(kept["lowercase"], bool):
            raise ValueError("it does not say which model and tokenizer it goes with")
        device = settings.get("device", "cpu")
        references = settings.get("references", kept["references"])
        check_choice("device", device, get_args(Device))
        check_choice("references", references, get_args(Reduction))
        threads = settings.get("threads")
        if threads is not None:
            check_between("threads", whole_number("threads", threads), 1, MOST_THREADS)
        shaping = [kept[key] for key in ("surface", "map", "lowercase")]
        return cls(
            folder=folder,
            name=description.name,
            score_map=ScoreMap.of(kept["map"]),
            surface=None if kept["surface"] is None else SurfaceWeights.of(kept["surface"], folder),
            lowercase=kept["lowercase"],
            references="best" if references == "best" else "mean",
            device="cuda" if device == "cuda" else "cpu",
            threads=None if threads is None else int(threads),
            digest_=_digest(sorted(files.items()), shaping),
            model_digest_=_digest(files[MODEL], files[TOKENIZER], _READING),
        )

    @cached_property
    def session(self) -> PairSession:
        """The model. A run whose scores are all known from before does without."""
        return PairSession.open(self.folder, device=self.device, threads=self.threads)

    def keep_scores(self, file: Path, limit: int) -> None:
        # Where rounding differs, so do the scores that are kept.
        precision = f"{self.device}, onnxruntime {_onnxruntime_version()}"
        self._disk = ScoreCache(file, self.model_digest_, precision, limit)

    def score_segments(self, segments: Segments) -> FloatArray:
        self._look_for_others(segments.hypotheses)
        each = segments.pairs()
        pairs, at = distinct(
            [
                (reference.strip(), hypothesis.strip())
                for reference, hypothesis in zip(each.references, each.hypotheses, strict=True)
            ]
        )
        scores = np.array([by_rule(*pair) for pair in pairs])
        unruled = np.flatnonzero(np.isnan(scores))
        if len(unruled):
            left = [pairs[row] for row in unruled.tolist()]
            raw = raw_scores(left, self._scored, self.surface, lowercase=self.lowercase)
            scores[unruled] = self.score_map(raw.scores)
            # Each time that a pair comes: how texts are put into batches shall not count.
            times = np.bincount(at, minlength=len(pairs))[unruled]
            self.too_long_ += int(times[raw.windows > 1].sum())
        return reduce_pairs(scores[at], each.segment, self.references)

    def _look_for_others(self, hypotheses: Sequence[str]) -> None:
        """Count the hypotheses that say something, and those of them that are no English."""
        foreign, seen = foreign_among(hypotheses)
        self.seen_ += seen
        self.foreign_ += foreign

    def _scored(self, pairs: list[Pair]) -> PairScores:
        return through(self._recent, pairs, self._kept_or_made)

    def _kept_or_made(self, pairs: list[Pair]) -> PairScores:
        if self._disk is None:
            return self._made(pairs)
        return through(self._disk, pairs, self._made)

    def _made(self, pairs: list[Pair]) -> PairScores:
        return self.session.score(pairs)

    def noticed(self) -> tuple[Remark, ...]:
        found = [foreign_remark(self.name, self.foreign_, self.seen_)]
        if self.too_long_:  # or else the model need not be open
            found.insert(0, _windows_remark(self.name, self.too_long_, self.session))
        return (*found, *plain(() if self._disk is None else self._disk.notes))

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("references", self.references),
            ("weights", self.digest_[:DIGITS]),
            ("version", __version__),
        )


def foreign_among(hypotheses: Sequence[str]) -> tuple[int, int]:
    """How many hypotheses are plainly no English, and how many say anything at all.

    >>> foreign_among(["Das ist nicht so gut, wie wir es alle erwartet haben.", "So it is.", ""])
    (1, 2)
    """
    said, at = distinct([text for text in hypotheses if _words(text)])
    return int(looks_foreign(said)[at].sum()), len(at)


def foreign_remark(name: str, foreign: int, seen: int) -> Remark:
    """What a user is told of them."""
    one, several = (
        f" that {name} scored {are} plainly not in English, the one language that it knows; "
        "-m chrf is for every language."
        for are in ("is", "are")
    )
    return Remark(("", " hypotheses of ", several), ("", " hypothesis of ", one), (foreign, seen))


def _windows_remark(name: str, count: int, session: PairSession) -> Remark:
    one, several = (
        f" {pairs} of hypothesis and reference in windows, as they are longer than "
        f"{session.reader.max_length} tokens."
        for pairs in ("pair", "pairs")
    )
    return Remark((f"{name} read ", several), (f"{name} read ", one), (count,))


def by_rule(reference: str, hypothesis: str) -> float:
    """The score of a pair that needs no model to say it, or NaN.

    >>> by_rule("so it\\nis", "so  it is"), by_rule("so it is", ""), by_rule("so it is", "so")
    (1.0, 0.0, nan)
    """
    words = _words(hypothesis)
    if words == _words(reference):
        return 1.0
    return float("nan") if words else 0.0


def _words(text: str) -> list[str]:
    """The words of a text, the same however its letters are composed, if there is something to see.

    >>> _words("cafe\\u0301 \\u200b") == ["caf\\u00e9"]
    True
    """
    if text.isascii():
        return text.split()
    words = normalize("NFC", text).split()
    return [word for word in words if any(category(letter) != "Cf" for letter in word)]


def raw_scores(
    pairs: Sequence[Pair],
    score: Callable[[list[Pair]], PairScores],
    surface: SurfaceWeights | None,
    *,
    lowercase: bool,
) -> PairScores:
    """The raw scores of pairs: what the model says of them, and what surface features add.

    The reference comes first in a pair, as in the network's training.
    """
    read, at = distinct(cased(pairs, lowercase=lowercase))
    raw = score(read).at(at)
    if surface is None:
        return raw
    references, hypotheses = zip(*pairs, strict=True)
    return replace(raw, scores=raw.scores + surface(hypotheses, references))


def cased(pairs: Sequence[Pair], *, lowercase: bool) -> list[Pair]:
    """Pairs as the tokenizer is given them."""
    return [(one.lower(), other.lower()) for one, other in pairs] if lowercase else list(pairs)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _onnxruntime_version() -> str:
    """Without importing it, which takes longer than all else where all scores are kept."""
    for package in ("onnxruntime", "onnxruntime-gpu"):
        with suppress(PackageNotFoundError):
            return version(package)
    return "of another name"
