"""From a plan and judgements to what the training loop takes: pairs, objectives, development."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from adequa.damage.apply import damage_texts
from adequa.damage.registry import trained_kinds
from adequa.errors import AdequaError
from adequa.io.language_pairs import language_pair
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings
from adequa.learned.pair.development import check_choice, development_of, held_out_references
from adequa.learned.pair.figures import Development
from adequa.learned.pair.objectives import (
    Distillation,
    Objective,
    RatingRegression,
    damage_order,
    preference_order,
)
from adequa.learned.pair.parts import (
    Judged,
    Part,
    Pool,
    judged_part,
    of_language_pairs,
    plain_part,
    sampled,
    system_part,
)
from adequa.learned.pair.plan import Plan, SourcePlan
from adequa.learned.references import reference_leaders
from adequa.segments import FloatArray, IntArray, Segments, concatenate

Load: TypeAlias = Callable[[str], Judgements]
Teach: TypeAlias = Callable[[tuple[str, ...], Segments], FloatArray]

_FEW, _FAR = 10, 5.0  # ratings that tell no scale; how many times scales may differ untold


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
    notes: tuple[str, ...] = ()  # what a user should know of the data


def collect(plan: Plan, given: Sequence[Judged], load: Load, teach: Teach) -> PairData:
    """Read the data of every stage, and hold out what is for development.

    A stage without data learns from what is given, of its kind.
    """
    read = _Reading(given, load)
    sources = [(st, *st.beside) for st in plan.stage]
    found = [[read.parts(source) for source in stage] for stage in sources]
    every = [part for stage in found for parts in stage for part in parts]
    developed = [read.judged(name) for name in plan.development.data]
    held_out = held_out_references(plan.development, every, developed, plan.seed)
    pool = Pool()
    development = development_of(
        plan.development, developed or every, held_out.references, pool, plan.seed
    )
    check_choice(plan, development)
    learnt = [
        [_learnt(*each, held_out.references, plan.seed) for each in zip(*stage, strict=True)]
        for stage in zip(sources, found, strict=True)
    ]
    stages = tuple(
        tuple(
            _source(source, parts, pool, teach, plan.seed)
            for source, parts in zip(*stage, strict=True)
        )
        for stage in zip(sources, learnt, strict=True)
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
        notes=(
            *_unused_rows([*every, *developed]),
            *held_out.notes,
            *dict.fromkeys(
                note
                for stage, taken in zip(sources, learnt, strict=True)
                for source, parts in zip(stage, taken, strict=True)
                if source.objective == "ratings"  # others do not learn these numbers
                for note in _scales(parts)
            ),
        ),
    )


class _Reading:
    """Data by name, and those given; what two stages take is read once."""

    def __init__(self, given: Sequence[Judged], load: Load) -> None:
        self._given, self._load = given, cache(load)
        self._part, self._plain = cache(judged_part), cache(plain_part)
        self._system = cache(system_part)

    def judged(self, name: str) -> Part:
        """The judgements of a file or dataset."""
        return self._part(self._named(name))

    def parts(self, source: SourcePlan) -> list[Part]:
        """The data of a source, of the kind that its objective takes."""
        parts = [self._of_kind(name, source.objective) for name in source.data]
        if not parts:
            kinds = _KINDS[source.objective]
            parts = [self._part(part) for part in self._given if isinstance(part, kinds)]
        if not parts:
            raise AdequaError(f"There are no {source.objective} to learn from; name data for them.")
        found = [of_language_pairs(part, source.lp) for part in parts]
        if source.lp and not any(map(len, found)):
            raise AdequaError(
                f"None of the data for {source.objective} are of {' or '.join(source.lp)}; name "
                "other language pairs, or other data."
            )
        return found

    def _of_kind(self, name: str, objective: str) -> Part:
        # A teacher says something of any texts, and any can be damaged.
        plain = self._plain(name) if objective in _OF_TEXTS else None
        if plain is not None:
            return plain
        if objective in _OF_TEXTS and isinstance(rated := self._load(name), RatedSystems):
            return self._system(rated)
        found = self._named(name)
        if not isinstance(found, _KINDS[objective]):
            raise AdequaError(f"{name} holds no {objective}, which this stage learns from.")
        return self._part(found)

    def _named(self, name: str) -> Judged:
        found = self._load(name)
        if not isinstance(found, Ratings | Preferences):
            raise AdequaError(
                f"{name} holds no judgements of segments, which a metric learns from."
            )
        return found


_KINDS: Mapping[str, tuple[type[Judged], ...]] = {
    "ratings": (Ratings,),
    "preferences": (Preferences,),
    "distillation": (Ratings, Preferences),
    "damage": (Ratings, Preferences),
}
_OF_TEXTS = ("distillation", "damage")  # whether anyone judged them or not


def _digest(pool: Pool, stages: Iterable[Iterable[Source]], development: Development) -> str:
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


def _unused_rows(parts: Iterable[Part]) -> dict[str, None]:
    """A note for each file and reason, each once, however often the file is used."""
    told = ((part.name or "the data", note) for part in parts for note in part.kept.notes())
    return dict.fromkeys(f"{name}: {note}" for name, note in told)


def _scales(parts: Sequence[Part]) -> Iterator[str]:
    """Ratings that are learnt together as if they were on one scale, and hardly can be."""
    rated = [part for part in parts if len(part.ratings) >= _FEW and np.ptp(part.ratings)]
    if len(rated) < 2:  # noqa: PLR2004 - nothing to compare
        return
    means = np.array([part.ratings.mean() for part in rated])
    spreads = np.array([part.ratings.std() for part in rated])
    apart = np.abs(means[:, None] - means) / np.maximum(spreads[:, None], spreads)
    if spreads.max() >= _FAR * spreads.min() or apart.max() >= _FAR:
        shown = ", ".join(
            f"{part.name or 'given'} {mean:.4g} ± {spread:.4g}"
            for part, mean, spread in zip(rated, means, spreads, strict=True)
        )
        yield f"ratings that are learnt together seem to be on different scales: {shown}."


def _learnt(source: SourcePlan, parts: Sequence[Part], held_out: set[str], seed: int) -> list[Part]:
    """What a source learns from: what is not held out, or so much of it as the plan says."""
    outside = [part.select(~part.with_any(held_out)) for part in parts]
    left = sampled([part for part in outside if len(part)], source.sample, seed)
    if not left:
        raise AdequaError(
            f"No {source.objective} are left to learn from, after those for development; give "
            "more judgements."
        )
    return left


def _source(
    source: SourcePlan, parts: Sequence[Part], pool: Pool, teach: Teach, seed: int
) -> Source:
    if source.objective == "preferences":
        return _preferences(source, parts, pool, seed)
    if source.objective == "distillation":
        return _distillation(source, parts, pool, teach, seed)
    if source.objective == "damage":
        return _damage(source, parts, pool, seed)
    return _ratings(parts, pool)


def _ratings(parts: Sequence[Part], pool: Pool) -> Source:
    added = [pool.add(part.sides[0], part.rows) for part in parts]
    targets = np.concatenate(
        [part.ratings[rows] for part, (_, rows) in zip(parts, added, strict=True)]
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


def _preferences(source: SourcePlan, parts: Sequence[Part], pool: Pool, seed: int) -> Source:
    better, worse, positions = [], [], []
    start = 0
    for part in parts:
        pairs, rows = pool.add(part.sides[0], part.rows)
        better.append(pairs)
        worse.append(pool.add(part.sides[1], part.rows)[0])
        positions.append(rows + start)
        start += len(part)
    columns = np.concatenate(better), np.concatenate(worse)
    items = _items(parts, source.split, seed)[np.concatenate(positions)]
    return Source(
        preference_order(*columns, items), None, _facts("preferences", parts, list(columns))
    )


def _items(parts: Sequence[Part], split: int, seed: int) -> IntArray:
    """The item of each preference: those on one segment are dealt to so many."""
    if not split:
        return np.arange(sum(map(len, parts)))
    random = np.random.default_rng(seed)
    dealt = np.concatenate([random.integers(split, size=len(part)) for part in parts])
    hands, hand = np.unique(dealt, return_inverse=True)
    numbers = defaultdict[tuple[str, str, str], int]()
    numbers.default_factory = numbers.__len__
    return np.concatenate([_segments(part, numbers) for part in parts]) * len(hands) + hand


def _segments(part: Part, numbers: Mapping[tuple[str, str, str], int]) -> IntArray:
    """The number of each row's segment: by dataset, language pair and what shares a reference."""
    leader = reference_leaders(part.references)
    languages, language = np.unique(np.array(part.language_pairs), return_inverse=True)
    each, at = np.unique(
        language * len(part.several) + part.segments[part.rows], return_inverse=True
    )
    found = [
        numbers[part.name, str(languages[pair]), leader[part.several[segment][0]]]
        for pair, segment in zip(*np.divmod(each, len(part.several)), strict=True)
    ]
    return np.array(found, np.intp)[at]


def _distillation(
    source: SourcePlan, parts: Sequence[Part], pool: Pool, teach: Teach, seed: int
) -> Source:
    """Every different output of the data with what the teacher says of it."""
    segments = outputs(parts)
    if source.crossed:
        segments = concatenate([segments, crossed(segments, source.crossed, seed)])
    pairs, rows_of_pairs = pool.add(segments, np.arange(len(segments)))
    said = teach(source.teacher, segments)
    taught = said[rows_of_pairs]
    scale = float(taught.mean()), float(taught.std()) or 1.0
    if source.joined:
        together = joined(segments, source.joined, seed)
        more, rows = pool.add(together.texts, np.arange(len(together.texts)))
        pairs = np.concatenate([pairs, more])
        taught = np.concatenate([taught, together.means(said)[rows]])
    # Who teaches, not what is said: the last digit of a score may be another the next time.
    teachers = np.frombuffer("\n".join(source.teacher).encode("utf-8", "surrogatepass"), np.uint8)
    facts = _facts("distillation", parts, [pairs, teachers]) | {
        "texts": len(segments),
        "joined": len(pairs) - len(rows_of_pairs),
        "teacher": list(source.teacher),
    }
    return Source(Distillation(pairs, (taught - scale[0]) / scale[1]), scale, facts)


def _damage(source: SourcePlan, parts: Sequence[Part], pool: Pool, seed: int) -> Source:
    """Every different good output, and every reference as its own output, beside damaged ones."""
    found = outputs(list(map(good, parts)))
    perfect = tuple(dict.fromkeys(several[0] for several in found.references))
    whole = Segments(
        hypotheses=(*found.hypotheses, *perfect),
        references=(*found.references, *((text,) for text in perfect)),
    )
    damage = damage_texts(
        whole.hypotheses,
        trained_kinds(source.spared),
        seed=seed,
        sources=source_texts(parts, whole),
        corpus=perfect,
        per_text=source.damages,
    )
    if not len(damage):
        raise AdequaError("None of the texts to damage can be damaged; give others, or spare less.")
    before = whole.select(damage.rows.tolist())
    after = replace(before, hypotheses=damage.texts)
    one, other = (pool.add(texts, np.arange(len(damage)))[0] for texts in (before, after))
    facts = _facts("damage", parts, [one, other]) | {
        "texts": len(whole),
        "damages": dict(sorted(Counter(damage.kinds).items())),
    }
    return Source(damage_order(one, other, source.margin), None, facts)


def _facts(objective: str, parts: Sequence[Part], columns: list[np.ndarray]) -> dict[str, Any]:
    digest = hashlib.sha256()
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    rows = Counter[str]()
    for part in parts:
        rows[part.name or "given"] += len(part)
    return {
        "objective": objective,
        "rows": rows.total(),
        "rows_by_dataset": dict(rows),
        "digest": digest.hexdigest(),
    }


_FEWEST, _MOST = 2, 4  # texts that are joined


def outputs(parts: Sequence[Part]) -> Segments:
    """Every different output of the data, with its references."""
    texts: dict[tuple[tuple[str, ...], str], None] = {}
    for part in parts:
        for side in part.sides:
            rows = part.rows.tolist()
            texts |= dict.fromkeys((side.references[row], side.hypotheses[row]) for row in rows)
    return Segments(
        hypotheses=tuple(hypothesis for _, hypothesis in texts),
        references=tuple(references for references, _ in texts),
    )


def crossed(texts: Segments, count: int, seed: int) -> Segments:
    """Each output against so many others of its references, as if they were references.

    No one judged such pairs, but a teacher can: they show it what it would not see otherwise.
    """
    random = np.random.default_rng(seed)
    together = defaultdict[tuple[str, ...], list[str]](list)
    for hypothesis, references in zip(texts.hypotheses, texts.references, strict=True):
        if hypothesis.strip():  # nothing is no reference
            together[references].append(hypothesis)
    pairs = [
        (several[at], several[(at + step) % len(several)])
        for several in together.values()
        for at in range(len(several))
        for step in 1 + random.choice(len(several) - 1, min(count, len(several) - 1), replace=False)
    ]
    return Segments(
        hypotheses=tuple(hypothesis for hypothesis, _ in pairs),
        references=tuple((other,) for _, other in pairs),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Texts of several sentences, and what each is joined from."""

    texts: Segments
    members: IntArray  # rows of the texts that were joined, one text after the other
    starts: IntArray  # of each text in the members
    weights: FloatArray  # of each member: its length

    def means(self, scores: FloatArray) -> FloatArray:
        """The score of each text, from those of what it is joined from, by their lengths."""
        whole = np.add.reduceat(self.weights, self.starts)
        return np.asarray(np.add.reduceat(self.weights * scores[self.members], self.starts) / whole)


def joined(texts: Segments, share: float, seed: int) -> Joined:
    """A share of the texts, two to four joined to one, each against its first reference.

    Judgements are of single sentences, and what learns from them alone takes a longer text for a
    worse one.
    """
    random = np.random.default_rng(seed)
    count = max(round(share * len(texts) / _MOST), 1)
    sizes = random.integers(_FEWEST, _MOST, count, endpoint=True)
    members = random.permutation(len(texts))[: sizes.sum()]
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), len(members), side="right")]
    members = members[: sizes.sum()]
    starts = np.cumsum(sizes) - sizes
    hypotheses = [texts.hypotheses[row] for row in members.tolist()]
    references = [texts.references[row][0] for row in members.tolist()]
    parts = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    lengths = [len(one) + len(other) for one, other in zip(hypotheses, references, strict=True)]
    return Joined(
        Segments(
            hypotheses=tuple(" ".join(hypotheses[part]) for part in parts),
            references=tuple((" ".join(references[part]),) for part in parts),
        ),
        members,
        starts,
        np.array(lengths, dtype=np.float64),
    )


def good(part: Part) -> Part:
    """The outputs that damage can only make worse: a dropped negation may mend a bad one.

    Damage is for English: texts in other languages, where that is known, are left alone.
    """
    english = [not pair or language_pair(pair).endswith("-en") for pair in part.language_pairs]
    part = part.select(np.array(english, dtype=bool))
    if part.kind == "ratings" and len(part):
        part = part.select(np.flatnonzero(part.ratings >= np.median(part.ratings)))
    return replace(part, sides=part.sides[:1])  # of preferences the better ones


def source_texts(parts: Sequence[Part], texts: Segments) -> list[str | None]:
    """What each of these texts is a translation of, as far as its first reference tells."""
    found: dict[str, str] = {}
    for part in parts:
        side = part.sides[0]
        for row in part.rows.tolist() if side.sources is not None else ():
            found.setdefault(side.references[row][0], (side.sources or ())[row])
    return [found.get(several[0]) or None for several in texts.references]
