"""Words of a text, by those of sacreBLEU's tokenizers that need no download."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import sacrebleu

from adequa.metrics.registry import check_choice

TOKENIZERS = ("13a", "intl", "zh", "char", "none")


def check_tokenizer(name: str) -> None:
    """Raise unless `name` is a tokenizer that `word_splitter` knows."""
    check_choice("tokenize", name, TOKENIZERS)


@cache  # sacreBLEU's tokenizers remember texts, so a new one a batch would remember in vain
def word_splitter(tokenize: str, *, lowercase: bool) -> Callable[[str], list[str]]:
    """A function from a text to its words.

    >>> word_splitter("13a", lowercase=True)("It costs 3.50, right?")
    ['it', 'costs', '3.50', ',', 'right', '?']
    >>> word_splitter("none", lowercase=False)("It costs 3.50, right?")
    ['It', 'costs', '3.50,', 'right?']
    """
    tokenizer: Callable[[str], str] = sacrebleu.BLEU(tokenize=tokenize).tokenizer
    if lowercase:
        return lambda text: tokenizer(text.lower()).split()
    return lambda text: tokenizer(text).split()
