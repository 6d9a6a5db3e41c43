"""From a plan and judgements to what the training loop takes: pairs, objectives, development."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from adequa.errors import AdequaError
from adequa.io.language_pairs import language_pair
from adequa.judgements import Judgements, Preferences, Ratings
from adequa.learned.references import reference_groups
from adequa.segments import FloatArray, IntArray, Segments
from adequa.training.development import Development
from adequa.training.objectives.contract import Objective
from adequa.training.objectives.distillation import Distillation
from adequa.training.objectives.preferences import preference_order
from adequa.training.objectives.ratings import RatingRegression
from adequa.training.plan import DevelopmentPlan, Plan, SourcePlan

Load: TypeAlias = Callable[[str], Judgements]
Teach: TypeAlias = Callable[[tuple[str, ...], Segments], FloatArray]
Judged: TypeAlias = Ratings | Preferences


@dataclass(frozen=True, slots=True)
class Source:
    """What a part of a stage learns, ready for the loop."""

    objective: Objective
    scale: tuple[float, float] | None  # mean and spread of the targets, before they were scaled
    facts: Mapping[str, Any]  # for metric.json


@dataclass(frozen=True, slots=True)
class PairData:
    """All texts of a training, each different pair once, and what is learnt from them."""

    texts: list[tuple[str, str]]  # reference and hypothesis
    stages: tuple[tuple[Source, ...], ...]
    development: Development
    held_out: Mapping[str, int]  # rows of development data, by kind
    digest: str  # of all that is learnt from


def collect(plan: Plan, given: Sequence[Judged], load: Load, teach: Teach) -> PairData:
    """Read the data of every stage, and hold out what is for development.

    A stage without data learns from what is given, of its kind.
    """
    # What two stages take is one object, read once, and held out once.
    read, chosen = cache(lambda name: _judged(name, load)), cache(_of_pairs)
    usable = [_usable(part) for part in given]
    sources = [[_parts(s, usable, read, chosen) for s in (st, *st.beside)] for st in plan.stage]
    developed = [read(name) for name in plan.development.data]
    every = [part for stage in sources for parts in stage for part in parts]
    held_out = _held_out_references(plan.development, every, developed, plan.seed)
    pool = _Pool()
    development = _development(plan.development, developed or every, held_out, pool, plan.seed)
    stages = tuple(
        tuple(
            _source(source, [_outside(part, held_out) for part in parts], pool, teach, plan.seed)
            for source, parts in zip((st, *st.beside), found, strict=True)
        )
        for st, found in zip(plan.stage, sources, strict=True)
    )
    return PairData(
        texts=list(pool.numbers),
        stages=stages,
        development=development,
        held_out={
            "ratings": len(development.rated),
            "preferences": len(development.better),
        },
        digest=_digest(pool, stages, development),
    )


@dataclass(slots=True)
class _Pool:
    """Different pairs of reference and hypothesis, numbered as they come."""

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, segments: Segments) -> tuple[IntArray, IntArray]:
        """The pairs of every hypothesis with each of its references, and the row of each."""
        pairs, rows = [], []
        for row, several in enumerate(segments.references):
            for reference in several:
                key = (reference, segments.hypotheses[row])
                pairs.append(self.numbers.setdefault(key, len(self.numbers)))
                rows.append(row)
        return np.array(pairs, np.intp), np.array(rows, np.intp)


def _digest(pool: _Pool, stages: Iterable[Iterable[Source]], development: Development) -> str:
    """Of all texts, of what is learnt of them, and of what that is chosen by."""
    found = hashlib.sha256()
    for pair in pool.numbers:
        found.update("\t".join(pair).encode("utf-8", "surrogatepass") + b"\n")
    for source in (source for stage in stages for source in stage):
        found.update(str(source.facts["digest"]).encode())
    held_out = development
    for column in (held_out.rated, held_out.ratings, held_out.better, held_out.worse):
        found.update(np.ascontiguousarray(column).tobytes())
    return found.hexdigest()


def _judged(name: str, load: Load) -> Judged:
    found = load(name)
    if not isinstance(found, Ratings | Preferences):
        raise AdequaError(f"{name} holds no judgements of segments, which a metric learns from.")
    return _usable(found)


def _usable(part: Judged) -> Judged:
    return part.without_identical() if isinstance(part, Preferences) else part


def _parts(
    source: SourcePlan,
    given: Sequence[Judged],
    read: Callable[[str], Judged],
    chosen: Callable[[Judged, tuple[str, ...]], Judged],
) -> list[Judged]:
    """The judgements of a source, of the kind that its objective takes."""
    wanted = {"ratings": Ratings, "preferences": Preferences}.get(source.objective)
    named = [read(name) for name in source.data]
    for name, part in zip(source.data, named, strict=True):
        if wanted is not None and not isinstance(part, wanted):
            raise AdequaError(f"{name} holds no {source.objective}, which this stage learns from.")
    parts = named or [part for part in given if wanted is None or isinstance(part, wanted)]
    if not parts:
        raise AdequaError(f"There are no {source.objective} to learn from; name data for them.")
    for part in parts:
        _texts(part)
    found = [chosen(part, source.lp) for part in parts]
    if source.lp and not any(map(len, found)):
        raise AdequaError(
            f"None of the data for {source.objective} are of {' or '.join(source.lp)}; name other "
            "language pairs, or other data."
        )
    return found


def _of_pairs(part: Judged, pairs: tuple[str, ...]) -> Judged:
    if not pairs:
        return part
    if "lp" not in part.ids:
        raise AdequaError(f"{part.name or 'The data'} has no language pairs to choose from.")
    wanted = {language_pair(pair) for pair in pairs}
    return part.select(
        [row for row, pair in enumerate(part.ids["lp"]) if language_pair(pair) in wanted]
    )


def _texts(part: Judged) -> Segments:
    """The texts of judgements; of preferences those of the better side, with the references."""
    rated = isinstance(part, Ratings)
    texts = part.segments if isinstance(part, Ratings) else part.better
    if texts is None:
        kind, columns = (
            ("ratings", '"mt" and "ref"')
            if rated
            else ("preferences", '"better", "worse" and "ref"')
        )
        raise AdequaError(
            f"There are no texts in {part.name or f'these {kind}'}; a metric learns from {kind} "
            f"with the columns {columns}."
        )
    return texts


def _held_out_references(
    plan: DevelopmentPlan, parts: Sequence[Judged], developed: Sequence[Judged], seed: int
) -> set[str]:
    """The references that no stage may learn from."""
    if developed:
        return {r for part in developed for several in _texts(part).references for r in several}
    if not plan.share:
        return set()
    every = {several for part in parts for several in _texts(part).references}
    # Drawn by their text, so that a reference is held out in every dataset or in none.
    drawn = {r for several in every for r in several if _draw(r, seed) < plan.share}
    return _with_companions(drawn, {several for several in every if len(several) > 1})


def _with_companions(drawn: set[str], together: set[tuple[str, ...]]) -> set[str]:
    """Also every reference that is beside a held-out one somewhere, and those beside that."""
    while beside := {several for several in together if not drawn.isdisjoint(several)}:
        drawn = drawn.union(*beside)
        together = together - beside
    return drawn


def _draw(text: str, seed: int) -> float:
    """A number from 0 to 1 that a text and a seed decide."""
    found = hashlib.sha256(f"{seed}\t{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(found[:8], "big") / 2**64


def _outside(part: Judged, held_out: set[str]) -> Judged:
    if not held_out:
        return part
    several = _texts(part).references
    return part.select([row for row, refs in enumerate(several) if held_out.isdisjoint(refs)])


def _development(
    plan: DevelopmentPlan, parts: Sequence[Judged], held_out: set[str], pool: _Pool, seed: int
) -> Development:
    inside = [
        part.select(
            [r for r, refs in enumerate(_texts(part).references) if not held_out.isdisjoint(refs)]
        )
        for part in {id(part): part for part in parts}.values()  # each once, if used in two stages
    ]
    kinds = [
        _sampled([part for part in inside if isinstance(part, kind) and len(part)], plan.rows, seed)
        for kind in (Ratings, Preferences)
    ]
    rated, better, worse = [_NO_PAIRS], [_NO_PAIRS], [_NO_PAIRS]
    ratings, groups = [np.empty(0)], list[str]()
    for part in chain(*kinds):
        # With the first reference alone: this is for choosing, not for reporting.
        if isinstance(part, Ratings):
            rated.append(_first_pairs(pool, _texts(part)))
            ratings.append(part.scores)
            groups += [f"{part.name} {pair}" for pair in part.ids.get("lp", [""] * len(part))]
        elif part.better is not None and part.worse is not None:
            better.append(_first_pairs(pool, part.better))
            worse.append(_first_pairs(pool, part.worse))
    return Development(
        rated=np.concatenate(rated),
        ratings=np.concatenate(ratings),
        rating_groups=np.unique(np.array(groups, dtype=str), return_inverse=True)[1],
        better=np.concatenate(better),
        worse=np.concatenate(worse),
    )


_NO_PAIRS: IntArray = np.empty(0, np.intp)


def _first_pairs(pool: _Pool, segments: Segments) -> IntArray:
    pairs, rows = pool.add(segments)
    return pairs[np.unique(rows, return_index=True)[1]]


def _source(
    source: SourcePlan, parts: list[Judged], pool: _Pool, teach: Teach, seed: int
) -> Source:
    parts = _sampled([part for part in parts if len(part)], source.sample, seed)
    if not parts:
        raise AdequaError(
            f"No {source.objective} are left to learn from, after those for development; give "
            "more judgements."
        )
    if source.objective == "preferences":
        preferences = [part for part in parts if isinstance(part, Preferences)]
        return _preferences(source, preferences, pool, seed)
    if source.objective == "distillation":
        return _distillation(source, parts, pool, teach)
    return _ratings([part for part in parts if isinstance(part, Ratings)], pool)


def _sampled(parts: list[Judged], sample: int, seed: int) -> list[Judged]:
    total = sum(map(len, parts))
    if not sample or sample >= total:
        return parts
    drawn = np.sort(np.random.default_rng(seed).choice(total, sample, replace=False))
    starts = np.cumsum([0, *map(len, parts)])
    taken = [
        part.select(drawn[(drawn >= start) & (drawn < start + len(part))] - start)
        for part, start in zip(parts, starts, strict=False)
    ]
    return [part for part in taken if len(part)]


def _ratings(parts: list[Ratings], pool: _Pool) -> Source:
    added = [pool.add(_texts(part)) for part in parts]
    targets = np.concatenate(
        [part.scores[rows] for part, (_, rows) in zip(parts, added, strict=True)]
    )
    if not np.ptp(targets):
        raise AdequaError(
            f"A metric learns from ratings that differ, and of {len(targets):,} here each is "
            f"{targets[0]:g}; give more judgements."
        )
    pairs = np.concatenate([pairs for pairs, _ in added])
    scale = float(targets.mean()), float(targets.std())
    return Source(
        RatingRegression(pairs, (targets - scale[0]) / scale[1]),
        scale,
        _facts("ratings", parts, [pairs, targets]),
    )


def _preferences(source: SourcePlan, parts: list[Preferences], pool: _Pool, seed: int) -> Source:
    better, worse, groups = [], [], []
    random = np.random.default_rng(seed)
    for part in parts:
        if part.better is None or part.worse is None:
            continue
        pairs, rows = pool.add(part.better)
        better.append(pairs)
        worse.append(pool.add(part.worse)[0])
        named = _items(part, part.better, source.split, random)
        groups += [named[row] for row in rows]
    columns = np.concatenate(better), np.concatenate(worse)
    return Source(
        preference_order(*columns, groups), None, _facts("preferences", parts, list(columns))
    )


def _items(
    part: Preferences, texts: Segments, split: int, random: np.random.Generator
) -> list[tuple[str, str, str, int]]:
    """A name for the item of each preference: those on one segment are dealt to so many."""
    if not split:
        return [(part.name, "", "", row) for row in range(len(part))]
    language = part.ids.get("lp", ("",) * len(part))
    dealt = random.integers(split, size=len(part)).tolist()
    named = zip(language, reference_groups(texts), dealt, strict=True)
    return [(part.name, *each) for each in named]


def _distillation(source: SourcePlan, parts: list[Judged], pool: _Pool, teach: Teach) -> Source:
    """Every different output of the data with what the teacher says of it."""
    texts: dict[tuple[tuple[str, ...], str], None] = {}
    for part in parts:
        sides = (part.segments,) if isinstance(part, Ratings) else (part.better, part.worse)
        for side in sides:
            if side is not None:
                texts |= dict.fromkeys(zip(side.references, side.hypotheses, strict=True))
    segments = Segments(
        hypotheses=tuple(hypothesis for _, hypothesis in texts),
        references=tuple(references for references, _ in texts),
    )
    pairs, rows = pool.add(segments)
    taught = teach(source.teacher, segments)[rows]
    scale = float(taught.mean()), float(taught.std()) or 1.0
    facts = _facts("distillation", parts, [pairs, taught]) | {
        "texts": len(segments),
        "teacher": list(source.teacher),
    }
    return Source(Distillation(pairs, (taught - scale[0]) / scale[1]), scale, facts)


def _facts(objective: str, parts: Sequence[Judged], columns: list[np.ndarray]) -> dict[str, Any]:
    digest = hashlib.sha256()
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    return {
        "objective": objective,
        "rows": sum(map(len, parts)),
        "rows_by_dataset": {part.name or "given": len(part) for part in parts},
        "digest": digest.hexdigest(),
    }
