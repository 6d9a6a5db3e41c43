"""Damage texts: which text, which kind, how severe, and the damaged text.

The damage to a text depends on the seed, the kind and the text (with its source and the corpus that
a kind may draw from), never on its index in a list or on its neighbours.
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
_ATTEMPTS = 3  # a random draw may happen to change nothing


@dataclass(frozen=True, slots=True, eq=False)
class DamagedTexts:
    """Damaged texts, column by column; a kind that does not apply to a text has no row."""

    rows: IntArray  # index of the undamaged text
    kinds: tuple[str, ...]
    severities: FloatArray
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def damage_texts(
    texts: Sequence[str],
    kinds: Sequence[str] | None = None,
    *,
    seed: int,
    severities: Sequence[float] = SEVERITIES,
    sources: Sequence[str | None] | None = None,
    corpus: Sequence[str] = (),
    per_text: int | None = None,
) -> DamagedTexts:
    """Apply every kind of damage (by default all) to every text that it applies to.

    A severity is drawn from `severities` each time. `sources` has the source of each text;
    `corpus` has sentences that hallucinations are made of. With `per_text`, a text is damaged in
    that many ways at most, drawn from those that apply: first the group, then the kind.

    >>> damaged = damage_texts(["It cost 300 euros.", "No."], ["number_changed", "empty"], seed=1)
    >>> damaged.rows, damaged.kinds, damaged.texts[1:]
    (array([0, 0, 1]), ('number_changed', 'empty', 'empty'), ('', ''))
    """
    names = PERTURBATIONS if kinds is None else kinds
    perturbations = [perturbation(name) for name in dict.fromkeys(names)]
    for severity in severities:
        if not 0 < severity <= 1:
            raise AdequaError(
                f"A severity of damage lies above 0 and is at most 1, not {severity:g}."
            )
    rows: list[int] = []
    row_kinds: list[str] = []
    row_severities: list[float] = []
    row_texts: list[str] = []
    for row, text in enumerate(texts):
        context = Context(sources[row] if sources is not None else None, corpus)
        for name, severity, damaged in _damage_one(
            text, perturbations, severities, seed, context, limit=per_text
        ):
            rows.append(row)
            row_kinds.append(name)
            row_severities.append(severity)
            row_texts.append(damaged)
    return DamagedTexts(
        np.array(rows, dtype=np.intp),
        tuple(row_kinds),
        np.array(row_severities, dtype=np.float64),
        tuple(row_texts),
    )


def damage_text(
    text: str, kind: str, severity: float, *, seed: int, context: Context | None = None
) -> str | None:
    """Apply one kind of damage to one text; None where it does not apply.

    >>> damage_text("I don't know.", "negation_dropped", 1.0, seed=1)
    'I do know.'
    """
    perturbations = [perturbation(kind)]
    results = _damage_one(text, perturbations, [severity], seed, context or Context())
    return next((damaged for _, _, damaged in results), None)


def _damage_one(
    text: str,
    kinds: Sequence[Perturbation],
    severities: Sequence[float],
    seed: int,
    context: Context,
    *,
    limit: int | None = None,
) -> Iterator[tuple[str, float, str]]:
    """The kind, severity and damaged text of each kind that applies to one text."""
    text_hash = _hash(text)
    normalized = " ".join(text.split())
    if limit is not None:
        kinds = _shuffle_by_group(kinds, _generator(seed, text_hash, "order"))
    count = 0
    for kind in kinds:
        if count == limit:
            return
        random = _generator(seed, text_hash, kind.name)
        severity = severities[int(random.random() * len(severities))]
        for _ in range(_ATTEMPTS):
            damaged = kind.function(text, severity, random, context)
            if damaged is None:
                break
            if " ".join(damaged.split()) != normalized:
                yield kind.name, severity, damaged
                count += 1
                break


def _shuffle_by_group(kinds: Sequence[Perturbation], random: Random) -> list[Perturbation]:
    """The kinds in random order, one of each group before a second of any.

    Many kinds of damage to characters apply to every text, and few kinds of damage to numbers to
    some texts. Drawn evenly, the former would crowd out the latter.
    """
    groups: dict[str, list[Perturbation]] = {}
    for kind in random.sample(kinds, len(kinds)):
        groups.setdefault(kind.group, []).append(kind)
    rounds = zip_longest(*random.sample(list(groups.values()), len(groups)))
    return [kind for members in rounds for kind in members if kind is not None]


def _hash(text: str) -> int:
    """A 64-bit hash of a text, the same on every machine."""
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


_NAME_HASHES = {name: _hash(name) for name in [*PERTURBATIONS, "order"]}


def _generator(seed: int, text_hash: int, name: str) -> Random:
    """A random generator that depends on the seed, the text and the kind alone."""
    # Multiplied by an odd constant, neighbouring seeds differ in all bits.
    mixed = (seed * 0x9E3779B97F4A7C15) % 2**64
    return Random(text_hash ^ _NAME_HASHES[name] ^ mixed)  # noqa: S311  # nothing here is a secret
