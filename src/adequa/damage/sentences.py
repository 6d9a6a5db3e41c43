"""Damage for many texts: which text, which kind, how severe, and the damaged text.

What happens to a text depends on the seed, the kind and the text (with its source and the other
sentences a kind may draw from), never on its place in a list or on its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from random import Random

import numpy as np

from adequa.damage.base import Context, Perturbation
from adequa.damage.registry import PERTURBATIONS, perturbation
from adequa.errors import AdequaError
from adequa.segments import FloatArray, IntArray

SEVERITIES = (0.1, 0.25, 0.5, 1.0)
_ATTEMPTS = 3  # a draw may happen to change nothing


@dataclass(frozen=True, slots=True, eq=False)
class Damage:
    """Damaged texts, column by column; a kind that cannot apply to a text has no row."""

    rows: IntArray  # which text, by its place in the list
    kinds: tuple[str, ...]
    severities: FloatArray
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def damaged(
    texts: Sequence[str],
    kinds: Sequence[str] | None = None,
    *,
    seed: int,
    severities: Sequence[float] = SEVERITIES,
    sources: Sequence[str | None] | None = None,
    others: Sequence[str] = (),
    each: int | None = None,
) -> Damage:
    """Every kind of damage (all, without kinds) done to every text it can be done to.

    A severity is drawn from `severities` for each. `sources` are those of the texts, one by one;
    `others` are sentences of the corpus that hallucinations are made of. With `each`, a text is
    damaged in that many ways at most, drawn from those that apply: first the group, then the kind.

    >>> made = damaged(["It cost 300 euros.", "No."], ["number_changed", "empty"], seed=1)
    >>> made.rows, made.kinds, made.texts[1:]
    (array([0, 0, 1]), ('number_changed', 'empty', 'empty'), ('', ''))
    """
    named = PERTURBATIONS if kinds is None else kinds
    found = [perturbation(name) for name in dict.fromkeys(named)]
    _check(texts, severities, sources, each)
    rows: list[int] = []
    names: list[str] = []
    chosen: list[float] = []
    made: list[str] = []
    for row, text in enumerate(texts):
        context = Context(sources[row] if sources is not None else None, others)
        for name, severity, result in _of_one(text, found, severities, seed, context, each=each):
            rows.append(row)
            names.append(name)
            chosen.append(severity)
            made.append(result)
    return Damage(
        np.array(rows, dtype=np.intp), tuple(names), np.array(chosen, dtype=np.float64), tuple(made)
    )


def damaged_text(
    text: str, kind: str, severity: float, *, seed: int, context: Context | None = None
) -> str | None:
    """One kind of damage to one text, or None where it cannot apply.

    >>> damaged_text("I don't know.", "negation_dropped", 1.0, seed=1)
    'I do know.'
    """
    found = perturbation(kind)
    _check([text], [severity], None, None)
    made = _of_one(text, [found], [severity], seed, context or Context())
    return next((result for _, _, result in made), None)


def _of_one(
    text: str,
    kinds: Sequence[Perturbation],
    severities: Sequence[float],
    seed: int,
    context: Context,
    *,
    each: int | None = None,
) -> Iterator[tuple[str, float, str]]:
    """The kinds, severities and texts of the damage to one text."""
    own = _number(text)
    plain = " ".join(text.split())
    if each is not None:
        kinds = _drawn(kinds, _generator(seed, own, "order"))
    count = 0
    for kind in kinds:
        if count == each:
            return
        random = _generator(seed, own, kind.name)
        severity = severities[int(random.random() * len(severities))]
        for _ in range(_ATTEMPTS):
            result = kind.function(text, severity, random, context)
            if result is None:
                break
            if " ".join(result.split()) != plain:
                yield kind.name, severity, result
                count += 1
                break


def _drawn(kinds: Sequence[Perturbation], random: Random) -> list[Perturbation]:
    """The kinds in random order, one of each group before a second of any.

    Many kinds of damage to characters apply to every text, and few to numbers to some: drawn
    evenly, the kinds of the former would crowd out the latter.
    """
    groups: dict[str, list[Perturbation]] = {}
    for kind in random.sample(kinds, len(kinds)):
        groups.setdefault(kind.group, []).append(kind)
    turns = zip_longest(*random.sample(list(groups.values()), len(groups)))
    return [kind for turn in turns for kind in turn if kind is not None]


def _number(text: str) -> int:
    """A number that stands for a text, the same on every machine."""
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


_NUMBERS = {name: _number(name) for name in [*PERTURBATIONS, "order"]}


def _generator(seed: int, own: int, name: str) -> Random:
    """Randomness from the seed, the text and the kind alone."""
    # The seed is spread over all bits, so that neighbouring seeds have nothing in common.
    spread = (seed * 0x9E3779B97F4A7C15) % 2**64
    return Random(own ^ _NUMBERS[name] ^ spread)  # noqa: S311  # nothing here is a secret


def _check(
    texts: Sequence[str],
    severities: Sequence[float],
    sources: Sequence[str | None] | None,
    each: int | None,
) -> None:
    wrong = [severity for severity in severities if not 0 < severity <= 1]
    if wrong or not severities:
        shown = f"not {wrong[0]:g}" if wrong else "and at least one is needed"
        raise AdequaError(f"A severity of damage lies above 0 and is at most 1, {shown}.")
    if sources is not None and len(sources) != len(texts):
        raise AdequaError(
            f"There are {len(texts):,} texts but {len(sources):,} sources; give one source a text,"
            " or None where it is not known."
        )
    if each is not None and each < 1:
        raise AdequaError(f"A text is damaged in one way at least; each must not be {each}.")
