"""Texts and words that metrics remember, and how a process that runs for long forgets them.

sacreBLEU's tokenizers and METEOR's stemmer remember what they were asked last, by number and not by
size: 65,536 texts of a sentence each are little, and as many of 4,000 characters fill gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from adequa.metrics.meteor.stemmer import stem
from adequa.metrics.meteor.synonyms import Synonyms


def forget_texts() -> None:
    """Have all of them forget; they only become slower for a moment."""
    for kind in _below(BaseTokenizer):
        for method in vars(kind).values():
            if hasattr(method, "cache_clear"):
                method.cache_clear()
    stem.cache_clear()
    Synonyms.forget()


def _below(kind: type[object]) -> Iterator[type[object]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
