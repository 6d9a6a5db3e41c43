"""The texts of a pair regressor's data that a teacher speaks of, or that are damaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from adequa.io.language_pairs import language_pair
from adequa.learned.pair.parts import Part
from adequa.segments import FloatArray, IntArray, Segments

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
