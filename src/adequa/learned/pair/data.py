"""From a plan and judgements to training data: numbered pairs, objectives and development data."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from adequa.damage.apply import damage_texts
from adequa.damage.registry import PERTURBATIONS, SYMBOLS, trained_kinds
from adequa.damage.symbols import with_emoji
from adequa.errors import AdequaError, counted
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings
from adequa.languages import language_pair
from adequa.learned.folds import Mask, reference_leaders
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
    by_language_pair,
    judged_subset,
    rows_with_a_view,
    sample,
    system_subset,
    text_subset,
    with_language_pairs,
)
from adequa.learned.pair.views import (
    REFERENCE_ONLY,
    Pair,
    View,
    ViewTable,
    parts_read,
    reads_source,
    sorted_views,
    view_table,
)
from adequa.metrics.registry import load_metric
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
    """A dataset of ratings, or a language pair of one, with an output scale of its own."""

    dataset: str
    lp: str  # empty if all language pairs of the dataset have one scale
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
    notes: tuple[str, ...] = ()  # for the user


@dataclass(frozen=True, slots=True)
class PairData:
    """All texts of a training, each distinct pair once, and the objectives on them.

    With several views, the numbers of pairs in objectives and development data are rows of `views`.
    """

    texts: list[Pair]
    stages: tuple[tuple[StageSource, ...], ...]
    development: Development
    development_rows: Mapping[str, int]  # rows of development data, by kind
    digest: str  # of all texts and targets
    views: ViewTable | None = None
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
    views = sorted_views(plan.inputs or REFERENCE_ONLY)
    reader = _Reader(judgements, load, views)
    available = [
        [(source, reader.subsets(source)) for source in (stage, *stage.beside)]
        for stage in plan.stage
    ]
    every = [subset for stage in available for _, subsets in stage for subset in subsets]
    development_subsets = [reader.judged(name) for name in plan.development.data]
    chosen = development_references(plan.development, every, development_subsets, plan.seed)
    index = PairIndex(views)
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
    texts, table = view_table(list(index.numbers), views)
    return PairData(
        texts=texts,
        stages=stages,
        development=development,
        development_rows={
            "ratings": len(development.rated),
            "preferences": len(development.better),
        },
        digest=_digest(index, stages, development),
        views=table,
        notes=(
            *_unused_row_notes([*every, *development_subsets]),
            *reader.notes,
            *chosen.notes,
            *scale_notes,
            *dict.fromkeys(note for stage in stages for source in stage for note in source.notes),
        ),
    )


# Reading


class _Reader:
    """Reads data by name, or takes the judgements passed to `fit`; each dataset is read once.

    Rows whose texts allow none of the views are left out, with a note.
    """

    def __init__(
        self, judgements: Sequence[SegmentJudgements], load: Load, views: tuple[View, ...]
    ) -> None:
        self._judgements, self._load, self._views = judgements, cache(load), views
        with_sources = reads_source(views)
        self._judged_subset = cache(partial(judged_subset, with_sources=with_sources))
        self._text_subset = cache(partial(text_subset, with_sources=with_sources))
        self._system_subset = cache(partial(system_subset, with_sources=with_sources))
        self.notes: dict[str, None] = {}

    def judged(self, name: str) -> Subset:
        """The judgements of a file or dataset."""
        return self._readable(self._judged_subset(self._segment_judgements(name)))

    def subsets(self, source: SourcePlan) -> list[Subset]:
        """The data of a source, of the kind that its objective needs."""
        subsets = [self._subset(name, source.objective) for name in source.data]
        if not subsets:
            kinds = _KINDS[source.objective]
            subsets = [self._judged_subset(j) for j in self._judgements if isinstance(j, kinds)]
        if not subsets:
            raise AdequaError(f"There are no {source.objective} to learn from; name data for them.")
        subsets = list(map(self._readable, subsets))
        if not any(map(len, subsets)):
            raise AdequaError(
                f"None of the data for {source.objective} can be learnt from: {self._reason}."
            )
        selected = [with_language_pairs(subset, source.lp) for subset in subsets]
        if source.lp and not any(map(len, selected)):
            raise AdequaError(
                f"None of the data for {source.objective} are of {' or '.join(source.lp)}; name "
                "other language pairs, or other data."
            )
        return selected

    def _readable(self, subset: Subset) -> Subset:
        """The rows of a subset whose texts allow a view."""
        readable = rows_with_a_view(subset, self._views)
        if left_out := len(subset) - len(readable):
            name, rows = subset.name or "the data", counted(left_out, "row")
            self.notes[f"{name}: {rows} cannot be learnt from: {self._reason}."] = None
        return readable

    @property
    def _reason(self) -> str:
        """Why rows cannot be read."""
        parts = parts_read(self._views)
        needed = [part for part, need in parts.items() if need == "required"]
        words = " and a ".join(needed) or " or a ".join(parts)
        listed = ", ".join(f'"{view}"' for view in self._views)
        return f"inputs = [{listed}] needs a {words} in every row"

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
    for source, datasets in stage:
        subsets, scales = datasets, []
        if source.own_scale == "pair":
            subsets = [part for each in datasets for part in by_language_pair(each)]
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

    Datasets, or language pairs, with output scales of their own are standardised one by one, others
    together.
    """
    added = [index.add(subset.sides[0], subset.rows) for subset in subsets]
    pairs, rows = np.concatenate([pairs for pairs, _ in added]), [rows for _, rows in added]
    ratings = [subset.ratings[each] for subset, each in zip(subsets, rows, strict=True)]
    groups = ratings if scales else [np.concatenate(ratings)]
    names = [f"{_name(source, each)}: " for each in subsets] if scales else [""]
    moments = [_mean_and_std(*each) for each in zip(names, groups, strict=True)]
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
            ScaledSet(subset.name or "given", _scale_pair(source, subset), scale, mean, std)
            for subset, scale, (mean, std) in zip(subsets, scales, moments, strict=False)
        ),
    )


def _scale_pair(source: SourcePlan, subset: Subset) -> str:
    """The language pair of a subset that has an output scale of its own for it; else empty."""
    return subset.language_pairs[0] if source.own_scale == "pair" else ""


def _name(source: SourcePlan, subset: Subset) -> str:
    """The name of a subset with an output scale of its own."""
    return f"{subset.name or 'given'} {_scale_pair(source, subset)}".strip()


def _mean_and_std(name: str, ratings: FloatArray) -> tuple[float, float]:
    if not np.ptp(ratings):
        raise AdequaError(
            f"{name}A metric learns from ratings that differ, and of {len(ratings):,} here each is "
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


@dataclass(frozen=True, slots=True, eq=False)
class _Taught:
    """Pairs with the scores of a teacher; the last ones are of joined texts."""

    pairs: IntArray
    targets: FloatArray
    texts: int
    joined: int  # number of pairs of joined texts


def _distillation(
    source: SourcePlan, subsets: Sequence[Subset], index: PairIndex, teach: Teach, seed: int
) -> StageSource:
    """Every distinct output with the teacher's score; targets are standardised."""
    texts = distinct_outputs(subsets, with_sources=index.reads_source)
    parts, notes = _teachable(source.teacher, texts)
    taught = [_taught(source, part, index, teach, seed) for part in parts]
    plain = np.concatenate([each.targets[: len(each.pairs) - each.joined] for each in taught])
    mean, std = float(plain.mean()), float(plain.std()) or 1.0
    pairs = np.concatenate([each.pairs for each in taught])
    targets = np.concatenate([each.targets for each in taught])
    # Names of teachers, not scores: the last digit of a score may differ the next time.
    teachers = np.frombuffer("\n".join(source.teacher).encode("utf-8", "surrogatepass"), np.uint8)
    facts = _facts("distillation", subsets, [pairs, teachers]) | {
        "texts": sum(each.texts for each in taught),
        "joined": sum(each.joined for each in taught),
        "teacher": list(source.teacher),
    }
    return StageSource(Distillation(pairs, (targets - mean) / std), (mean, std), facts, notes=notes)


def _taught(
    source: SourcePlan, segments: Segments, index: PairIndex, teach: Teach, seed: int
) -> _Taught:
    """The pairs of texts, of outputs against each other, and of joined texts, with their scores."""
    if source.crossed and segments.has_references:
        _check_teachers_of_crossed(source.teacher, segments)
        segments = concatenate([segments, crossed_outputs(segments, source.crossed, seed)])
    pairs, rows = index.add(segments, np.arange(len(segments)))
    scores = teach(source.teacher, segments)
    targets = scores[rows]
    if source.joined:
        joined = joined_texts(segments, source.joined, seed)
        joined_pairs, joined_rows = index.add(joined.texts, np.arange(len(joined.texts)))
        pairs = np.concatenate([pairs, joined_pairs])
        targets = np.concatenate([targets, joined.mean_scores(scores)[joined_rows]])
    return _Taught(pairs, targets, len(segments), len(pairs) - len(rows))


def _check_teachers_of_crossed(teachers: Sequence[str], segments: Segments) -> None:
    """Raise if a teacher needs sources, which outputs against each other do not have."""
    if segments.sources is None:
        return  # and such a teacher could score none of the texts
    for teacher in teachers:
        if load_metric(teacher).reads.get("source") == "required":
            raise AdequaError(
                f"{teacher} needs a source, and outputs that are distilled against each other "
                "(crossed) have none; leave out crossed, or name another teacher."
            )


def _teachable(
    teachers: Sequence[str], parts: Sequence[Segments]
) -> tuple[list[Segments], tuple[str, ...]]:
    """The texts that these teachers can score, and a note on those that they cannot."""
    masks = [_text_masks(part) for part in parts]
    if all(mask.all() for part in masks for mask in part.values()):
        return list(parts), ()
    required = {
        name: teacher
        for teacher in teachers
        for name, need in load_metric(teacher).reads.items()
        if need == "required"
    }
    rows = [
        np.flatnonzero(np.all([mask for name, mask in part.items() if name in required], axis=0))
        if required.keys() & part.keys()
        else np.arange(len(texts))
        for part, texts in zip(masks, parts, strict=True)
    ]
    left_out = sum(map(len, parts)) - sum(map(len, rows))
    needs = " and ".join(f"{teacher} needs a {name}" for name, teacher in required.items())
    if left_out == sum(map(len, parts)):
        raise AdequaError(f"{needs}, and no text to distil has that; name another teacher or data.")
    note = f"{counted(left_out, 'text')} cannot be distilled, because {needs}."
    selected = [part.select(each.tolist()) for part, each in zip(parts, rows, strict=True)]
    return [part for part in selected if len(part)], (note,) if left_out else ()


def _text_masks(texts: Segments) -> dict[str, Mask]:
    """Which segments have references, and, if sources are read, which have a source."""
    masks = {"reference": np.full(len(texts), texts.has_references)}
    if texts.sources is not None:
        masks["source"] = np.array([bool(source.strip()) for source in texts.sources])
    return masks


def distinct_outputs(subsets: Sequence[Subset], *, with_sources: bool = False) -> list[Segments]:
    """Every distinct output of the data with its references, and with its source if that is read.

    First those that have references, then the others.
    """
    texts: dict[tuple[tuple[str, ...], str, str], None] = {}
    for side in (side for subset in subsets for side in _selected_sides(subset)):
        sources = (side.sources if with_sources else None) or ("",) * len(side)
        texts |= dict.fromkeys(zip(side.references, sources, side.hypotheses, strict=True))
    parts = [[each for each in texts if bool(each[0]) == has] for has in (True, False)]
    return [
        Segments(
            hypotheses=tuple(hypothesis for _, _, hypothesis in part),
            references=tuple(references for references, _, _ in part),
            sources=tuple(source for _, source, _ in part) if with_sources else None,
        )
        for part in parts
        if part
    ]


def _selected_sides(subset: Subset) -> Iterator[Segments]:
    rows = subset.rows.tolist()
    return (side.select(rows) for side in subset.sides)


def crossed_outputs(texts: Segments, count: int, seed: int) -> Segments:
    """Each output paired with up to `count` other outputs of its references as references.

    A teacher can score such pairs, and they are of other kinds than judged ones. They have no
    source: beside that, the output already has the score against its own references.
    """
    random = np.random.default_rng(seed)
    by_references = defaultdict[tuple[str, ...], dict[str, None]](dict)
    for hypothesis, references in zip(texts.hypotheses, texts.references, strict=True):
        if hypothesis.strip():  # an empty text cannot be a reference
            by_references[references][hypothesis] = None
    pairs = [
        (outputs[i], outputs[(i + step) % len(outputs)])
        for outputs in map(list, by_references.values())
        for i in range(len(outputs))
        for step in 1 + random.choice(len(outputs) - 1, min(count, len(outputs) - 1), replace=False)
    ]
    return Segments(
        hypotheses=tuple(hypothesis for hypothesis, _ in pairs),
        references=tuple((other,) for _, other in pairs),
        sources=None if texts.sources is None else ("",) * len(pairs),
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
    """Join a fraction of the texts, two to four to one, each against first references and sources.

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
    chosen = texts.select(members.tolist())
    hypotheses, sources = chosen.hypotheses, chosen.sources
    references = [each[0] for each in chosen.references] if chosen.has_references else None
    beside: Sequence[str] = references or sources or ()
    slices = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    lengths = [len(one) + len(other) for one, other in zip(hypotheses, beside, strict=True)]
    return JoinedTexts(
        Segments(
            hypotheses=tuple(" ".join(hypotheses[each]) for each in slices),
            references=tuple(
                () if references is None else (" ".join(references[each]),) for each in slices
            ),
            sources=None if sources is None else tuple(_joined(sources[each]) for each in slices),
        ),
        members,
        starts,
        np.array(lengths, dtype=np.float64),
    )


def _joined(sources: Sequence[str]) -> str:
    """The sources as one text; empty if one of them is missing."""
    return " ".join(sources) if all(source.strip() for source in sources) else ""


# Damage


def _damage(
    source: SourcePlan, subsets: Sequence[Subset], index: PairIndex, seed: int
) -> StageSource:
    """Good outputs, and references as their own outputs, each with damaged copies.

    A fraction of them get emoji first, and damage to these alone.
    """
    outputs = distinct_outputs(list(map(good_outputs, subsets)), with_sources=index.reads_source)
    intact = list(map(_with_references_as_outputs, outputs))
    copies = [
        _damaged(texts, kinds, source.damages, subsets, seed)
        for each in intact
        for texts, kinds in _with_kinds(each, source, seed)
    ]
    kinds = Counter(kind for each in copies for kind in each.kinds)
    if not kinds:
        raise AdequaError("None of the texts to damage can be damaged; give others, or spare less.")
    one, other = (
        np.concatenate([index.add(texts, np.arange(len(texts)))[0] for texts in side])
        for side in zip(*((each.before, each.after) for each in copies), strict=True)
    )
    facts = _facts("damage", subsets, [one, other]) | {
        "texts": sum(map(len, intact)),
        "damages": dict(sorted(kinds.items())),
    }
    return StageSource(damage_order(one, other, source.margin), None, facts)


def _with_references_as_outputs(outputs: Segments) -> Segments:
    """Outputs, and every first reference as an output of its own segment."""
    sources = outputs.sources or ("",) * len(outputs)
    source_of: dict[str, str] = {}
    for references, text in zip(outputs.references, sources, strict=True):
        if references:
            source_of.setdefault(references[0], text)
    return Segments(
        hypotheses=(*outputs.hypotheses, *source_of),
        references=(*outputs.references, *((text,) for text in source_of)),
        sources=None if outputs.sources is None else (*outputs.sources, *source_of.values()),
    )


def _with_kinds(
    intact: Segments, source: SourcePlan, seed: int
) -> Iterator[tuple[Segments, Sequence[str]]]:
    """Texts with the kinds of damage to do: most as they are, and a fraction with emoji in them."""
    kinds = trained_kinds(source.spared)
    random = Random(seed)  # noqa: S311  # nothing here is a secret
    chosen = set(random.sample(range(len(intact)), round(source.symbols * len(intact))))
    if len(chosen) < len(intact):
        yield intact.select([row for row in range(len(intact)) if row not in chosen]), kinds
    if chosen:
        decorated = segments_with_emoji(intact.select(sorted(chosen)), random)
        yield decorated, [kind for kind in kinds if PERTURBATIONS[kind].group == SYMBOLS]


def segments_with_emoji(segments: Segments, random: Random) -> Segments:
    """Segments whose hypothesis, references and source have the same one or two emoji added."""
    sources = segments.sources or ("",) * len(segments)
    columns = zip(segments.hypotheses, segments.references, sources, strict=True)
    rows = [
        with_emoji([hypothesis, source, *references], random)
        for hypothesis, references, source in columns
    ]
    return Segments(
        hypotheses=tuple(row[0] for row in rows),
        references=tuple(tuple(row[2:]) for row in rows),
        sources=None if segments.sources is None else tuple(row[1] for row in rows),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Copies:
    """Texts and their damaged copies, row by row."""

    before: Segments
    after: Segments
    kinds: Sequence[str]  # of damage


def _damaged(
    intact: Segments, kinds: Sequence[str], per_text: int, subsets: Sequence[Subset], seed: int
) -> _Copies:
    """The copies, damaged in these ways, of texts that all have references, or none."""
    damage = damage_texts(
        intact.hypotheses,
        kinds,
        seed=seed,
        sources=source_texts(subsets, intact),
        corpus=tuple(dict.fromkeys(intact.target_texts)),
        per_text=per_text,
    )
    before = intact.select(damage.rows.tolist())
    return _Copies(before, replace(before, hypotheses=damage.texts), damage.kinds)


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
    """The source of each text, its own or else by its first reference; None if unknown."""
    if texts.sources is not None:
        return [source if source.strip() else None for source in texts.sources]
    sources: dict[str, str] = {}
    for subset in subsets:
        side = subset.sides[0]
        for row in subset.rows.tolist() if side.sources is not None else ():
            sources.setdefault(side.references[row][0], (side.sources or ())[row])
    return [sources.get(references[0]) or None for references in texts.references]
