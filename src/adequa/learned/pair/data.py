"""From a plan and judgements to training data: numbered pairs, objectives and development data."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from adequa.damage.apply import damage_texts
from adequa.damage.registry import trained_kinds
from adequa.errors import AdequaError
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings
from adequa.languages import language_pair
from adequa.learned.folds import reference_leaders
from adequa.learned.pair.development import (
    Development,
    check_can_choose,
    development_data,
    development_references,
)
from adequa.learned.pair.objectives import (
    Distillation,
    Objective,
    RatingRegression,
    damage_order,
    preference_order,
)
from adequa.learned.pair.subsets import (
    PairIndex,
    SegmentJudgements,
    Subset,
    judged_subset,
    sample,
    system_subset,
    text_subset,
    with_language_pairs,
)
from adequa.segments import FloatArray, IntArray, Segments, concatenate

if TYPE_CHECKING:
    from adequa.learned.pair.plan import Plan, SourcePlan, Transform

Load: TypeAlias = Callable[[str], Judgements]
Teach: TypeAlias = Callable[[tuple[str, ...], Segments], FloatArray]

# Ratings that should be on one scale: fewer than this say nothing about it, and larger differences
# of means or standard deviations than this factor are noted.
_FEW_RATINGS, _SCALE_FACTOR = 10, 5.0
_LARGEST_PENALTY = 25.0  # MQM's for a text that is no translation
_FEWEST_JOINED, _MOST_JOINED = 2, 4  # texts that are joined to one


@dataclass(frozen=True, slots=True)
class ScaledSet:
    """A dataset of ratings with an output scale of its own."""

    dataset: str
    scale: int  # its number; 0 for the network's own
    mean: float  # of its targets
    std: float


@dataclass(frozen=True, slots=True)
class StageSource:
    """One objective of a stage with its data."""

    objective: Objective
    # Mean and standard deviation of the targets, if they are numbers on the network's own scale.
    scale: tuple[float, float] | None
    facts: Mapping[str, Any]  # for metric.json
    scaled_sets: tuple[ScaledSet, ...] = ()


@dataclass(frozen=True, slots=True)
class PairData:
    """All texts of a training, each distinct pair once, and the objectives on them."""

    texts: list[tuple[str, str]]  # reference and hypothesis
    stages: tuple[tuple[StageSource, ...], ...]
    development: Development
    development_rows: Mapping[str, int]  # rows of development data, by kind
    digest: str  # of all texts and targets
    notes: tuple[str, ...] = ()  # for the user

    @property
    def output_scales(self) -> int:
        """Number of output scales beside the network's own."""
        sources = (source for stage in self.stages for source in stage)
        return max((each.scale for source in sources for each in source.scaled_sets), default=0)


def collect(
    plan: Plan, judgements: Sequence[SegmentJudgements], load: Load, teach: Teach
) -> PairData:
    """Read the data of every stage, and hold out development data.

    A stage without data learns from the judgements of its kind.
    """
    reader = _Reader(judgements, load)
    available = [
        [(source, reader.subsets(source)) for source in (stage, *stage.beside)]
        for stage in plan.stage
    ]
    every = [subset for stage in available for _, subsets in stage for subset in subsets]
    development_subsets = [reader.judged(name) for name in plan.development.data]
    chosen = development_references(plan.development, every, development_subsets, plan.seed)
    index = PairIndex()
    development = development_data(
        plan.development,
        development_subsets or every,
        chosen.references,
        index,
        plan.seed,
    )
    check_can_choose(plan, development)
    training = [
        [
            (source, _training_subsets(source, subsets, chosen.references, plan.seed))
            for source, subsets in stage
        ]
        for stage in available
    ]
    numbers = count(1)  # of output scales beside the network's own
    stages = tuple(_stage_sources(stage, numbers, index, teach, plan.seed) for stage in training)
    scale_notes = dict.fromkeys(
        note
        for stage in training
        for source, subsets in stage
        # The only objective that learns these numbers, and those that should be on one scale.
        if source.objective == "ratings" and not source.own_scale
        for note in _scale_notes(subsets)
    )
    return PairData(
        texts=list(index.numbers),
        stages=stages,
        development=development,
        development_rows={
            "ratings": len(development.rated),
            "preferences": len(development.better),
        },
        digest=_digest(index, stages, development),
        notes=(
            *_unused_row_notes([*every, *development_subsets]),
            *chosen.notes,
            *scale_notes,
        ),
    )


# Reading


class _Reader:
    """Reads data by name, or takes the judgements passed to `fit`; each dataset is read once."""

    def __init__(self, judgements: Sequence[SegmentJudgements], load: Load) -> None:
        self._judgements, self._load = judgements, cache(load)
        self._judged_subset, self._text_subset = cache(judged_subset), cache(text_subset)
        self._system_subset = cache(system_subset)

    def judged(self, name: str) -> Subset:
        """The judgements of a file or dataset."""
        return self._judged_subset(self._segment_judgements(name))

    def subsets(self, source: SourcePlan) -> list[Subset]:
        """The data of a source, of the kind that its objective needs."""
        subsets = [self._subset(name, source.objective) for name in source.data]
        if not subsets:
            kinds = _KINDS[source.objective]
            subsets = [self._judged_subset(j) for j in self._judgements if isinstance(j, kinds)]
        if not subsets:
            raise AdequaError(f"There are no {source.objective} to learn from; name data for them.")
        selected = [with_language_pairs(subset, source.lp) for subset in subsets]
        if source.lp and not any(map(len, selected)):
            raise AdequaError(
                f"None of the data for {source.objective} are of {' or '.join(source.lp)}; name "
                "other language pairs, or other data."
            )
        return selected

    def _subset(self, name: str, objective: str) -> Subset:
        """The data of one name for an objective."""
        # A teacher can score any text, and any text can be damaged.
        takes_texts = objective in {"distillation", "damage"}
        texts = self._text_subset(name) if takes_texts else None
        if texts is not None:
            return texts
        if takes_texts and isinstance(rated := self._load(name), RatedSystems):
            return self._system_subset(rated)
        judgements = self._segment_judgements(name)
        if not isinstance(judgements, _KINDS[objective]):
            raise AdequaError(f"{name} holds no {objective}, which this stage learns from.")
        return self._judged_subset(judgements)

    def _segment_judgements(self, name: str) -> SegmentJudgements:
        judgements = self._load(name)
        if not isinstance(judgements, Ratings | Preferences):
            raise AdequaError(
                f"{name} holds no judgements of segments, which a metric learns from."
            )
        return judgements


_KINDS: Mapping[str, tuple[type[SegmentJudgements], ...]] = {
    "ratings": (Ratings,),
    "preferences": (Preferences,),
    "distillation": (Ratings, Preferences),
    "damage": (Ratings, Preferences),
}


def _training_subsets(
    source: SourcePlan, subsets: Sequence[Subset], excluded: set[str], seed: int
) -> list[Subset]:
    """The data of a source that are not held out, or a sample of them."""
    outside = [subset.select(~subset.mask_with_any(excluded)) for subset in subsets]
    remaining = sample([subset for subset in outside if len(subset)], source.sample, seed)
    if not remaining:
        raise AdequaError(
            f"No {source.objective} are left to learn from, after those for development; give "
            "more judgements."
        )
    return [_transformed(subset, source.transform) for subset in remaining]


def _transformed(subset: Subset, transform: Transform) -> Subset:
    """A subset with transformed ratings."""
    if transform == "none" or subset.scores is None:
        return subset
    if (subset.ratings > 0).any():
        raise AdequaError(
            "The transform log-penalty takes ratings that are minus a penalty, 0 for a perfect "
            f"text; {subset.name or 'the data'} has a rating of {subset.ratings.max():g}."
        )
    scores = subset.scores.copy()
    scores[subset.rows] = log_penalty(subset.ratings)
    return replace(subset, scores=scores)


def log_penalty(ratings: FloatArray) -> FloatArray:
    """Minus the logarithm of 1 plus the penalty, for ratings that are minus a penalty, as MQM.

    The first errors of a text then count most.

    >>> log_penalty(np.array([0.0, -1.0, -25.0, -80.0])).round(3).tolist()
    [0.0, -0.693, -3.258, -3.258]
    """
    return np.asarray(0.0 - np.log1p(np.minimum(-ratings, _LARGEST_PENALTY)))


def _unused_row_notes(subsets: Iterable[Subset]) -> dict[str, None]:
    """A note for each file and reason why rows are not used, each once."""
    notes = ((each.name or "the data", note) for each in subsets for note in each.file_rows.notes())
    return dict.fromkeys(f"{name}: {note}" for name, note in notes)


def _scale_notes(subsets: Sequence[Subset]) -> Iterator[str]:
    """A note if ratings that are learnt together seem to be on different scales."""
    rated = [each for each in subsets if len(each.ratings) >= _FEW_RATINGS and np.ptp(each.ratings)]
    if len(rated) < 2:  # noqa: PLR2004 - nothing to compare
        return
    means = np.array([subset.ratings.mean() for subset in rated])
    stds = np.array([subset.ratings.std() for subset in rated])
    distances = np.abs(means[:, None] - means) / np.maximum(stds[:, None], stds)
    if stds.max() >= _SCALE_FACTOR * stds.min() or distances.max() >= _SCALE_FACTOR:
        scales = ", ".join(
            f"{subset.name or 'given'} {mean:.4g} ± {std:.4g}"
            for subset, mean, std in zip(rated, means, stds, strict=True)
        )
        yield f"ratings that are learnt together seem to be on different scales: {scales}."


def _digest(
    index: PairIndex, stages: Iterable[Iterable[StageSource]], development: Development
) -> str:
    """A digest of all texts, of the objectives, and of development data."""
    digest = hashlib.sha256()
    for pair in index.numbers:
        digest.update("\t".join(pair).encode("utf-8", "surrogatepass") + b"\n")
    for source in (source for stage in stages for source in stage):
        digest.update(str(source.facts["digest"]).encode())
    for column in (development.rated, development.ratings, development.better, development.worse):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


# Objectives


def _stage_sources(
    stage: Sequence[tuple[SourcePlan, list[Subset]]],
    numbers: Iterator[int],
    index: PairIndex,
    teach: Teach,
    seed: int,
) -> tuple[StageSource, ...]:
    """The sources of a stage; `numbers` are those of further output scales.

    The first ratings or teacher without a scale of their own decide the network's scale; where all
    ratings have their own, the first dataset does.
    """
    undecided = not any(
        source.objective in {"ratings", "distillation"} and not source.own_scale
        for source, _ in stage
    )
    sources = []
    for source, subsets in stage:
        scales = []
        if source.own_scale:
            first = 0 if undecided else next(numbers)
            scales = [first, *(next(numbers) for _ in subsets[1:])]
            undecided = False
        sources.append(_source(source, subsets, index, teach, seed, scales=scales))
    return tuple(sources)


def _source(
    source: SourcePlan,
    subsets: Sequence[Subset],
    index: PairIndex,
    teach: Teach,
    seed: int,
    *,
    scales: Sequence[int],
) -> StageSource:
    """One source of a stage; `scales` are the numbers of the output scales of its datasets."""
    if source.objective == "preferences":
        return _preferences(source, subsets, index, seed)
    if source.objective == "distillation":
        return _distillation(source, subsets, index, teach, seed)
    if source.objective == "damage":
        return _damage(source, subsets, index, seed)
    return _ratings(source, subsets, scales, index)


def _facts(objective: str, subsets: Sequence[Subset], columns: list[np.ndarray]) -> dict[str, Any]:
    """Facts about a source for metric.json; the digest is that of the columns."""
    digest = hashlib.sha256()
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    rows = Counter[str]()
    for subset in subsets:
        rows[subset.name or "given"] += len(subset)
    return {
        "objective": objective,
        "rows": rows.total(),
        "rows_by_dataset": dict(rows),
        "digest": digest.hexdigest(),
    }


def _ratings(
    source: SourcePlan, subsets: Sequence[Subset], scales: Sequence[int], index: PairIndex
) -> StageSource:
    """Every rated output with each of its references; targets are standardised.

    Datasets with output scales of their own are standardised one by one, others together.
    """
    added = [index.add(subset.sides[0], subset.rows) for subset in subsets]
    pairs, rows = np.concatenate([pairs for pairs, _ in added]), [rows for _, rows in added]
    ratings = [subset.ratings[each] for subset, each in zip(subsets, rows, strict=True)]
    groups = ratings if scales else [np.concatenate(ratings)]
    moments = [_mean_and_std(group) for group in groups]
    targets = [(group - mean) / std for group, (mean, std) in zip(groups, moments, strict=True)]
    weights = _noise_weights(source.noise, subsets, rows) if source.noise else None
    columns = [pairs, np.concatenate(ratings), *([] if weights is None else [weights])]
    settings = {"transform": source.transform, "noise": source.noise}
    used = {key: value for key, value in settings.items() if value not in {"none", 0.0}}
    return StageSource(
        objective=RatingRegression(
            pairs,
            np.concatenate(targets),
            weights,
            np.repeat(scales, list(map(len, ratings))) if any(scales) else None,
        ),
        scale=None if any(scales[:1]) else moments[0],  # scale 0 is that of a first dataset
        facts=_facts("ratings", subsets, columns) | used,
        scaled_sets=tuple(
            ScaledSet(subset.name or "given", scale, mean, std)
            for subset, scale, (mean, std) in zip(subsets, scales, moments, strict=False)
        ),
    )


def _mean_and_std(ratings: FloatArray) -> tuple[float, float]:
    if not np.ptp(ratings):
        raise AdequaError(
            f"A metric learns from ratings that differ, and of {len(ratings):,} here each is "
            f"{ratings[0]:g}; give more judgements."
        )
    return float(ratings.mean()), float(ratings.std())


def _noise_weights(noise: float, subsets: Sequence[Subset], rows: Sequence[IntArray]) -> FloatArray:
    """The weight of each rating by its number of judgements n: (1 + noise) / (1 + noise / n).

    It is inverse to the variance of what is left of a rating: 1 that the metric cannot explain, and
    the noise of the mean of n judgements. A single judgement has a weight of 1, and so has a rating
    of an unknown number.
    """
    weights = []
    for subset, each in zip(subsets, rows, strict=True):
        if subset.counts is None:
            raise AdequaError(
                f"{subset.name or 'The data'} does not say how many judgements a rating is the "
                "mean of, which noise needs; leave noise out for it."
            )
        weights.append((1 + noise) / (1 + noise / np.maximum(subset.counts[each], 1)))
    return np.concatenate(weights)


def _preferences(
    source: SourcePlan, subsets: Sequence[Subset], index: PairIndex, seed: int
) -> StageSource:
    """Every preference with each of its references."""
    better, worse, rows = [], [], []
    start = 0
    for subset in subsets:
        pairs, positions = index.add(subset.sides[0], subset.rows)
        better.append(pairs)
        worse.append(index.add(subset.sides[1], subset.rows)[0])
        rows.append(positions + start)
        start += len(subset)
    columns = np.concatenate(better), np.concatenate(worse)
    items = _preference_items(subsets, source.split, seed)[np.concatenate(rows)]
    return StageSource(
        preference_order(*columns, items), None, _facts("preferences", subsets, list(columns))
    )


def _preference_items(subsets: Sequence[Subset], split: int, seed: int) -> IntArray:
    """The item of each preference: those of one segment are split at random into `split` items."""
    if not split:
        return np.arange(sum(map(len, subsets)))
    random = np.random.default_rng(seed)
    sampled_parts = np.concatenate([random.integers(split, size=len(each)) for each in subsets])
    parts, part = np.unique(sampled_parts, return_inverse=True)
    numbers = defaultdict[tuple[str, str, str], int]()
    numbers.default_factory = numbers.__len__
    segments = np.concatenate([_segment_numbers(subset, numbers) for subset in subsets])
    return segments * len(parts) + part


def _segment_numbers(subset: Subset, numbers: Mapping[tuple[str, str, str], int]) -> IntArray:
    """The number of each row's segment: by dataset, language pair and group of references."""
    leader = reference_leaders(subset.references)
    languages, language = np.unique(np.array(subset.language_pairs), return_inverse=True)
    set_count = len(subset.reference_sets)
    keys, inverse = np.unique(language * set_count + subset.row_sets, return_inverse=True)
    segments = [
        numbers[subset.name, str(languages[pair]), leader[subset.reference_sets[references][0]]]
        for pair, references in zip(*np.divmod(keys, set_count), strict=True)
    ]
    return np.array(segments, np.intp)[inverse]


# Distillation


def _distillation(
    source: SourcePlan, subsets: Sequence[Subset], index: PairIndex, teach: Teach, seed: int
) -> StageSource:
    """Every distinct output with the teacher's score; targets are standardised."""
    segments = distinct_outputs(subsets)
    if source.crossed:
        segments = concatenate([segments, crossed_outputs(segments, source.crossed, seed)])
    pairs, rows = index.add(segments, np.arange(len(segments)))
    scores = teach(source.teacher, segments)
    targets = scores[rows]
    mean, std = float(targets.mean()), float(targets.std()) or 1.0
    if source.joined:
        joined = joined_texts(segments, source.joined, seed)
        joined_pairs, joined_rows = index.add(joined.texts, np.arange(len(joined.texts)))
        pairs = np.concatenate([pairs, joined_pairs])
        targets = np.concatenate([targets, joined.mean_scores(scores)[joined_rows]])
    # Names of teachers, not scores: the last digit of a score may differ the next time.
    teachers = np.frombuffer("\n".join(source.teacher).encode("utf-8", "surrogatepass"), np.uint8)
    facts = _facts("distillation", subsets, [pairs, teachers]) | {
        "texts": len(segments),
        "joined": len(pairs) - len(rows),
        "teacher": list(source.teacher),
    }
    return StageSource(Distillation(pairs, (targets - mean) / std), (mean, std), facts)


def distinct_outputs(subsets: Sequence[Subset]) -> Segments:
    """Every distinct output of the data with its references."""
    texts: dict[tuple[tuple[str, ...], str], None] = {}
    for subset in subsets:
        for side in subset.sides:
            rows = subset.rows.tolist()
            texts |= dict.fromkeys((side.references[row], side.hypotheses[row]) for row in rows)
    return Segments(
        hypotheses=tuple(hypothesis for _, hypothesis in texts),
        references=tuple(references for references, _ in texts),
    )


def crossed_outputs(texts: Segments, count: int, seed: int) -> Segments:
    """Each output paired with up to `count` other outputs of its references as references.

    A teacher can score such pairs, and they are of other kinds than judged ones.
    """
    random = np.random.default_rng(seed)
    by_references = defaultdict[tuple[str, ...], list[str]](list)
    for hypothesis, references in zip(texts.hypotheses, texts.references, strict=True):
        if hypothesis.strip():  # an empty text cannot be a reference
            by_references[references].append(hypothesis)
    pairs = [
        (outputs[i], outputs[(i + step) % len(outputs)])
        for outputs in by_references.values()
        for i in range(len(outputs))
        for step in 1 + random.choice(len(outputs) - 1, min(count, len(outputs) - 1), replace=False)
    ]
    return Segments(
        hypotheses=tuple(hypothesis for hypothesis, _ in pairs),
        references=tuple((other,) for _, other in pairs),
    )


@dataclass(frozen=True, slots=True, eq=False)
class JoinedTexts:
    """Texts of several sentences, and the rows that each is joined from."""

    texts: Segments
    members: IntArray  # rows that were joined, text after text
    starts: IntArray  # first index in `members` of each text
    lengths: FloatArray  # of each member

    def mean_scores(self, scores: FloatArray) -> FloatArray:
        """The score of each text: the mean of its members', weighted by their lengths."""
        totals = np.add.reduceat(self.lengths, self.starts)
        weighted = np.add.reduceat(self.lengths * scores[self.members], self.starts)
        return np.asarray(weighted / totals)


def joined_texts(texts: Segments, fraction: float, seed: int) -> JoinedTexts:
    """Join a fraction of the texts, two to four to one, each against its first reference.

    Judgements are of single sentences, and a metric that learns from them alone scores longer
    texts lower.
    """
    random = np.random.default_rng(seed)
    count = max(round(fraction * len(texts) / _MOST_JOINED), 1)
    sizes = random.integers(_FEWEST_JOINED, _MOST_JOINED, count, endpoint=True)
    members = random.permutation(len(texts))[: sizes.sum()]
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), len(members), side="right")]
    members = members[: sizes.sum()]
    starts = np.cumsum(sizes) - sizes
    hypotheses = [texts.hypotheses[row] for row in members.tolist()]
    references = [texts.references[row][0] for row in members.tolist()]
    slices = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    lengths = [len(one) + len(other) for one, other in zip(hypotheses, references, strict=True)]
    return JoinedTexts(
        Segments(
            hypotheses=tuple(" ".join(hypotheses[each]) for each in slices),
            references=tuple((" ".join(references[each]),) for each in slices),
        ),
        members,
        starts,
        np.array(lengths, dtype=np.float64),
    )


# Damage


def _damage(
    source: SourcePlan, subsets: Sequence[Subset], index: PairIndex, seed: int
) -> StageSource:
    """Good outputs, and references as their own outputs, each with damaged copies."""
    outputs = distinct_outputs(list(map(good_outputs, subsets)))
    references = tuple(dict.fromkeys(refs[0] for refs in outputs.references))
    intact = Segments(
        hypotheses=(*outputs.hypotheses, *references),
        references=(*outputs.references, *((text,) for text in references)),
    )
    damage = damage_texts(
        intact.hypotheses,
        trained_kinds(source.spared),
        seed=seed,
        sources=source_texts(subsets, intact),
        corpus=references,
        per_text=source.damages,
    )
    if not len(damage):
        raise AdequaError("None of the texts to damage can be damaged; give others, or spare less.")
    before = intact.select(damage.rows.tolist())
    after = replace(before, hypotheses=damage.texts)
    one, other = (index.add(texts, np.arange(len(damage)))[0] for texts in (before, after))
    facts = _facts("damage", subsets, [one, other]) | {
        "texts": len(intact),
        "damages": dict(sorted(Counter(damage.kinds).items())),
    }
    return StageSource(damage_order(one, other, source.margin), None, facts)


def good_outputs(subset: Subset) -> Subset:
    """The English outputs that damage can only make worse: a dropped negation may mend a bad one.

    Of ratings the better half, and of preferences the better outputs.
    """
    english = [not pair or language_pair(pair).endswith("-en") for pair in subset.language_pairs]
    subset = subset.select(np.array(english, dtype=bool))
    if subset.kind == "ratings" and len(subset):
        subset = subset.select(np.flatnonzero(subset.ratings >= np.median(subset.ratings)))
    return replace(subset, sides=subset.sides[:1])


def source_texts(subsets: Sequence[Subset], texts: Segments) -> list[str | None]:
    """The source of each text, by its first reference, or None if unknown."""
    sources: dict[str, str] = {}
    for subset in subsets:
        side = subset.sides[0]
        for row in subset.rows.tolist() if side.sources is not None else ():
            sources.setdefault(side.references[row][0], (side.sources or ())[row])
    return [sources.get(references[0]) or None for references in texts.references]
