"""Half a character: a surrogate without its partner, which Python keeps and no tokenizer reads."""

from __future__ import annotations

from collections.abc import Iterable

from adequa.errors import AdequaError


def refuse_halves(texts: Iterable[str], error: Exception) -> None:
    """Raise a sentence where a text cannot be written in UTF-8, as files can.

    `error` is what a tokenizer made of the texts, which names no cause.
    """
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError as half:
        raise AdequaError(
            f"A text holds {half.object[half.start]!a} at character {half.start + 1:,}, which is "
            "half a character (a surrogate) that no tokenizer reads; correct the text."
        ) from error
