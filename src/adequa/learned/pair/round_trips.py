"""Sentences translated to another language and back: outputs that a teacher can speak of.

People judged few sentences, and what learns from a teacher learns little of others. A round trip
makes translations of any sentence: by the most likely words good ones, by drawn words worse ones,
the more so the higher the temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from adequa.errors import AdequaError
from adequa.segments import Segments

_CHUNK = 8192  # sentences that make the way together, which bounds the memory that they take


class Translates(Protocol):
    """Translates texts from one language to another."""

    def translate(
        self,
        texts: Sequence[str],
        temperatures: Sequence[float] = ...,
        *,
        seed: int = ...,
        done: Callable[[int], None] = ...,
    ) -> list[list[str]]:
        """One list a temperature: by the most likely words where it is 0, else by drawn ones."""


def check_temperatures(temperatures: Sequence[float]) -> None:
    """Raise where one makes no sense, or none is given."""
    wrong = [value for value in temperatures if not 0 <= value <= 10]  # noqa: PLR2004 - noise
    if wrong or not temperatures:
        given = f"{wrong[0]:g}" if wrong else "none"
        raise AdequaError(f"A temperature is from 0, the most likely words, to 10, not {given}.")


def round_trips(
    sentences: Sequence[str],
    there: Translates,
    back: Translates,
    temperatures: Sequence[float],
    *,
    seed: int = 0,
    done: Callable[[int], None] = lambda _: None,
) -> Iterator[Segments]:
    """Each sentence as the reference of what comes back, once at every temperature.

    The way there goes by the most likely words. What comes back empty or twice is left out.
    """
    check_temperatures(temperatures)
    for start in range(0, len(sentences), _CHUNK):
        chunk = sentences[start : start + _CHUNK]
        (abroad,) = there.translate(chunk, done=done)
        ways = back.translate(abroad, temperatures, seed=seed + start, done=done)
        pairs = dict.fromkeys(
            (text.strip(), sentence)
            for sentence, *texts in zip(chunk, *ways, strict=True)
            for text in texts
            if text.strip()
        )
        yield Segments(
            hypotheses=tuple(text for text, _ in pairs),
            references=tuple((sentence,) for _, sentence in pairs),
        )
