"""Remarks on what was made, such as how many texts were cut: sentences whose counts add up.

A worker counts what it sees, and another process says the sentence of all workers together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, zip_longest


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence in pieces, with a count between each two of them.

    >>> str(Remark(("", " texts of ", " were cut."), ("", " text of ", " was cut."), (1, 2000)))
    '1 text of 2,000 was cut.'
    """

    several: tuple[str, ...]
    one: tuple[str, ...] = ()  # the same where the first count is 1
    counts: tuple[int, ...] = ()  # none for what is so however much is made

    def __str__(self) -> str:
        words = self.one if self.counts[:1] == (1,) else self.several
        counts = (f"{count:,}" for count in self.counts)
        return "".join(chain.from_iterable(zip_longest(words, counts, fillvalue="")))

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to be said, though something was counted."""
        return self.counts[:1] == (0,)


def plain(said: Iterable[str]) -> tuple[Remark, ...]:
    """Sentences that hold however much is made."""
    return tuple(Remark((sentence,)) for sentence in said)


def sentences(remarks: Iterable[Remark]) -> tuple[str, ...]:
    """The sentences that a user should read.

    >>> sentences([*plain(["It is late."]), Remark(("", " texts were cut."), counts=(0,))])
    ('It is late.',)
    """
    return tuple(str(remark) for remark in remarks if not remark.is_silent)


def together(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Each sentence once, with the sums of its counts.

    >>> cut = Remark(("", " of ", " were cut."), counts=(2, 10))
    >>> sentences(together([cut, cut]))
    ('4 of 20 were cut.',)
    """
    found: dict[tuple[tuple[str, ...], ...], Remark] = {}
    for remark in remarks:
        words = (remark.several, remark.one)
        before = found.get(words)
        if before is None:
            found[words] = remark
        else:
            sums = map(sum, zip(before.counts, remark.counts, strict=True))
            found[words] = replace(before, counts=tuple(sums))
    return tuple(found.values())


def since(before: Iterable[Remark], now: Iterable[Remark]) -> tuple[Remark, ...]:
    """What was counted between two looks, and what holds at any time.

    >>> cut = Remark(("", " of ", " were cut."), counts=(2, 10))
    >>> sentences(since([cut], [replace(cut, counts=(5, 14))]))
    ('3 of 4 were cut.',)
    """
    less = (replace(each, counts=tuple(-count for count in each.counts)) for each in before)
    changed = together(chain(now, less))
    return tuple(each for each in changed if not each.counts or any(each.counts))
