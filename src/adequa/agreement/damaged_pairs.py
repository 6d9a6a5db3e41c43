"""Good translations beside their damaged selves, for a test of metrics.

Which text is damaged in which way depends on the seed and the texts alone, so that every metric is
tested on the same pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adequa.damage.apply import SEVERITIES, damage_texts
from adequa.damage.base import Perturbation
from adequa.damage.registry import PERTURBATIONS, perturbation
from adequa.errors import AdequaError, check_fields, nearest, one_or_more
from adequa.judgements import Judgements, Preferences, RatedSystems, Ratings
from adequa.segments import FloatArray, Segments


@dataclass(frozen=True, slots=True)
class DamageSettings:
    """What is done to the texts: which kinds of damage, how often and how gravely."""

    each: int = 100  # texts a kind, at most
    kinds: tuple[str, ...] = ()  # with no kinds and no groups named, all
    groups: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()  # groups that are left out
    severities: tuple[float, ...] = SEVERITIES
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("kinds", "groups", "spared"):
            object.__setattr__(self, name, one_or_more(getattr(self, name)))
        if self.each < 1:
            raise AdequaError(f"A kind needs one text at least to damage, not {self.each}.")
        if self.seed < 0:
            raise AdequaError(f"A seed is 0 or a positive whole number, not {self.seed}.")

    def __str__(self) -> str:
        """The settings in one line, as a signature shows them.

        >>> str(DamageSettings(each=50, groups=("number",), severities=(0.5, 1.0)))
        'each:50|group:number|severity:0.5,1|seed:0'
        """
        severities = tuple(f"{severity:g}" for severity in self.severities)
        parts = {
            "each": (str(self.each),),
            "kind": self.kinds,
            "group": self.groups,
            "spared": self.spared,
            "severity": severities,
            "seed": (str(self.seed),),
        }
        return "|".join(f"{name}:{','.join(values)}" for name, values in parts.items() if values)

    def chosen(self) -> tuple[Perturbation, ...]:
        """The selected kinds of damage, in the order of the registry."""
        groups = dict.fromkeys(kind.group for kind in PERTURBATIONS.values())
        for group in (*self.groups, *self.spared):
            if group not in groups:
                raise AdequaError(
                    f'There is no group of damage named "{group}".{nearest(group, groups)} The '
                    f"groups are {', '.join(groups)}."
                )
        kinds = {perturbation(name).name for name in self.kinds}
        everything = not (self.kinds or self.groups)
        chosen = tuple(
            kind
            for kind in PERTURBATIONS.values()
            if (everything or kind.name in kinds or kind.group in self.groups)
            and kind.group not in self.spared
        )
        if not chosen:
            raise AdequaError("No kind of damage is left to test; spare fewer groups.")
        return chosen


@dataclass(frozen=True, slots=True, eq=False)
class DamagedPairs:
    """Translations before and after the damage, row by row, in the order of the kinds."""

    before: Segments
    after: Segments
    kinds: tuple[Perturbation, ...]
    severities: FloatArray
    texts: int  # different translations that could be damaged
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.kinds)


def good_texts(judgements: Judgements) -> Segments:
    """The translations that damage can only make worse: in a poor one, it may mend something.

    Of ratings the better half, of preferences the better ones.

    >>> texts = Segments(("a", "b", "c"), (("x",), ("y",), ("z",)))
    >>> good_texts(Ratings(np.array([1.0, 3.0, 2.0]), {}, texts)).hypotheses
    ('b', 'c')
    """
    if isinstance(judgements, RatedSystems):
        raise AdequaError(
            "Good translations are chosen by ratings or preferences of single outputs, and these "
            "judgements are of whole systems; give their files with -t and -r."
        )
    texts = judgements.better if isinstance(judgements, Preferences) else judgements.segments
    if texts is None or not len(texts):
        raise AdequaError(
            "These judgements have no texts that could be damaged; add the columns mt and ref."
        )
    if not texts.has_references:
        raise AdequaError(
            "Damage is measured against references, and these judgements have sources alone; add "
            "the column ref."
        )
    good = np.full(len(texts), True)
    if isinstance(judgements, Ratings):
        good = judgements.scores >= np.median(judgements.scores)
    pairs = judgements.ids.get("lp", ("",) * len(texts))
    # Damage is done to English.
    good &= np.array([not pair or pair.endswith("-en") for pair in pairs])
    if not good.any():
        raise AdequaError(
            "The kinds of damage are for English, and none of these translations are into English."
        )
    return texts.select(np.flatnonzero(good).tolist())


def damaged_pairs(texts: Segments, settings: DamageSettings) -> DamagedPairs:
    """Every kind of damage to so many of the texts, each different text with its references once.

    Texts that equal a reference are left out, and so is what damage makes equal to one.
    """
    kinds = settings.chosen()
    candidates = _candidates(texts)
    order = np.random.default_rng(settings.seed).permutation(len(candidates))
    parts = _damaged_by_kind(candidates.select(order.tolist()), kinds, settings)
    filled = [(kind, parts[kind.name]) for kind in kinds if parts[kind.name]]
    if not filled:
        raise AdequaError("None of these texts can be damaged in the ways asked for.")
    rows, after, severities = zip(*(pair for _, part in filled for pair in part), strict=True)
    before = candidates.select(order[list(rows)].tolist())
    return DamagedPairs(
        before=before,
        after=replace(before, hypotheses=after),
        kinds=tuple(kind for kind, part in filled for _ in part),
        severities=np.array(severities),
        texts=len(candidates),
        notes=tuple(_notes(parts, len(candidates), settings.each)),
    )


def _candidates(texts: Segments) -> Segments:
    """Each different text with its references once, without those that equal a reference."""
    seen: dict[tuple[str, tuple[str, ...]], int] = {}
    for row, (text, references) in enumerate(zip(texts.hypotheses, texts.references, strict=True)):
        if not _is_one_of(text, references):
            seen.setdefault((text, references), row)
    if not seen:
        raise AdequaError(
            "There are no texts to damage: every one is its reference word for word, or there is "
            "none."
        )
    return replace(texts.select(list(seen.values())), ids={})


def _is_one_of(text: str, references: Sequence[str]) -> bool:
    return text.split() in [reference.split() for reference in references]


def _damaged_by_kind(
    texts: Segments, kinds: Sequence[Perturbation], settings: DamageSettings
) -> dict[str, list[tuple[int, str, float]]]:
    """The row, the damaged text and the severity of each pair, by kind."""
    pairs: dict[str, list[tuple[int, str, float]]] = {kind.name: [] for kind in kinds}
    others = tuple(dict.fromkeys(references[0] for references in texts.references))
    sources = None if texts.sources is None else [text or None for text in texts.sources]
    # In parts, since most kinds have enough after the first.
    for start in range(0, len(texts), settings.each):
        lacking = [name for name, part in pairs.items() if len(part) < settings.each]
        part = slice(start, start + settings.each)
        damaged = damage_texts(
            texts.hypotheses[part],
            lacking,
            seed=settings.seed,
            severities=settings.severities,
            sources=None if sources is None else sources[part],
            corpus=others,
        )
        columns = zip(
            damaged.rows.tolist(), damaged.kinds, damaged.texts, damaged.severities, strict=True
        )
        for row, kind, text, severity in columns:
            room = len(pairs[kind]) < settings.each
            if room and not _is_one_of(text, texts.references[start + row]):
                pairs[kind].append((start + row, text, float(severity)))
    return pairs


def _notes(parts: Mapping[str, Sequence[object]], texts: int, each: int) -> Iterator[str]:
    if texts < each:
        yield f"different texts to damage: {texts:,}, fewer than {each:,} a kind."
    without = [name for name, part in parts.items() if not part]
    if without:
        yield f"kinds of damage that apply to none of the texts: {', '.join(without)}."
    enough = min(texts, each)
    few = {name: len(part) for name, part in parts.items() if 0 < len(part) < enough}
    if few:
        listed = ", ".join(f"{name} {count:,}" for name, count in few.items())
        yield f"kinds of damage that apply to fewer than {enough:,} texts: {listed}."
