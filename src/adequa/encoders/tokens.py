"""Texts as token ids: read once by a tokenizer, kept flat, padded a batch at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adequa.runtime.half_characters import refuse_halves

_ALONE: Final = r"\[\](){}<>?!;@#$%&*‒–—―«»“”‘’„"
_PIECE: Final = re.compile(
    rf"""\.{{2,}} | -- | `+ | '' | " | [{_ALONE}] | [:,](?!\d)
    | (?: [^\s{_ALONE}`".,:'-] | \.(?!\.) | [:,](?=\d) | -(?!-) | '(?!') )+""",
    re.VERBOSE,
)
_OPENING: Final = re.compile(r"""(?:^|(?<=[\s(\[{<]))(?:"|'')""")
_FINAL_STOP: Final = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»”’\s]*$)""")
_INNER_STOP: Final = re.compile(r"""(\S+)\.(?=[\])}>"'»”’]*\s+[(\["'“‘«]*[^\W\d_])""")
_CLITIC: Final = re.compile(r"(.*[^'])('[sSmMdD]|'ll|'LL|'re|'RE|'ve|'VE|n't|N'T|')")
_OPENING_APOSTROPHE: Final = re.compile(r"'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_JOINED: Final = {
    "cannot": 3,
    "d'ye": 1,
    "gimme": 3,
    "gonna": 3,
    "gotta": 3,
    "lemme": 3,
    "more'n": 4,
    "wanna": 3,
}
_ABBREVIATED: Final = (
    "adm brig capt cmdr co col corp dr drs e.g etc gen gov hon i.e inc jr lt ltd maj messrs "
    "mr mrs ms mt prof rep rev sen sgt sr st ste vs jan feb mar apr aug sept oct nov "
    "dec"
)
_ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split())


def treebank_words(text: str) -> list[str]:
    """The words of a text.

    >>> treebank_words('He didn\\'t say "No." Mr. Wu\\'s cat cannot.')
    ['He', 'did', "n't", 'say', '``', 'No', '.', "''", 'Mr.', 'Wu', "'s", 'cat', 'can', 'not', '.']
    >>> treebank_words("It costs $3,500.50 (roughly), in the U.S. -- or so...")[:8]
    ['It', 'costs', '$', '3,500.50', '(', 'roughly', ')', ',']
    """
    marked = _OPENING.sub(" `` ", text)
    marked = _FINAL_STOP.sub(" . ", _INNER_STOP.sub(_without_stop, marked))
    words: list[str] = []
    for piece in _PIECE.findall(marked):
        words += _parted(piece)
    return words


def _without_stop(found: re.Match[str]) -> str:
    """A word whose full stop is followed by a capital letter: the stop apart if it ends here."""
    word = found[1]
    if not _next_letter(found).isupper():
        return found[0]
    bare = word.lstrip("([{<\"'“‘«`")
    is_abbreviation = len(bare) == 1 or bare.lower() in _ABBREVIATIONS or "." in bare
    return found[0] if is_abbreviation and not bare.isdigit() else f"{word} . "


def _next_letter(found: re.Match[str]) -> str:
    """The first letter after the stop; the pattern has made sure that there is one."""
    rest = found.string[found.end() :]
    return next(letter for letter in rest if letter.isalpha())


def _parted(piece: str) -> list[str]:
    """A piece without spaces, its clitics taken apart."""
    if piece == '"':
        return ["''"]
    at = _JOINED.get(piece.lower())
    if at is not None:
        return [piece[:at], piece[at:]]
    if _OPENING_APOSTROPHE.match(piece):
        return ["'", *_parted(piece[1:])]
    clitic = _CLITIC.fullmatch(piece)
    return [clitic[1], clitic[2]] if clitic else [piece]


_CHUNK = 8192  # texts given to the tokenizer at a time, which bounds the memory of its lists

Rows = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class TokenRows:
    """The token ids of many texts, one text after the other in one array."""

    ids: npt.NDArray[np.int32]
    types: npt.NDArray[np.int8] | None  # which of two texts a token is of, where a network asks
    starts: npt.NDArray[np.int64]  # of each text, and the end of the last
    padding: tuple[int, int]  # the id and the type that fill up a row

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each text."""
        return np.diff(self.starts)

    def padded(self, rows: Rows) -> dict[str, npt.NDArray[np.int64]]:
        """The inputs of a network for these texts, filled up on the right."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        behind = np.arange(int(lengths.max()))
        there = behind < lengths[:, None]
        places = (self.starts[rows][:, None] + behind)[there]
        inputs = {"input_ids": np.full(there.shape, self.padding[0], np.int64)}
        inputs["input_ids"][there] = self.ids[places]
        if self.types is not None:
            inputs["token_type_ids"] = np.full(there.shape, self.padding[1], np.int64)
            inputs["token_type_ids"][there] = self.types[places]
        return inputs | {"attention_mask": there.astype(np.int64)}


@dataclass(frozen=True, slots=True)
class Reader:
    """A tokenizer, and what its network wants to be given."""

    tokenizer: Any
    typed: bool  # whether the network asks which of two texts a token is of
    max_length: int  # tokens of a text, or of a pair, at most

    @classmethod
    def of(cls, network: Any, tokenizer: Any, max_length: int) -> Reader:
        """For a network of Hugging Face."""
        known = signature(network.forward).parameters
        typed = "token_type_ids" in known and getattr(network.config, "type_vocab_size", 2) > 1
        return cls(tokenizer, typed, max_length)

    def read(self, texts: Sequence[tuple[str, ...]]) -> TokenRows:
        """The token ids of single texts or of pairs, cut where they are too long."""
        ids: list[npt.NDArray[np.int32]] = []
        types: list[npt.NDArray[np.int8]] = []
        lengths: list[npt.NDArray[np.int64]] = []
        for start in range(0, len(texts), _CHUNK):
            encoded = self._tokenized(
                texts[start : start + _CHUNK], truncation=True, max_length=self.max_length
            )
            rows = encoded["input_ids"]
            lengths.append(np.fromiter(map(len, rows), np.int64, len(rows)))
            count = int(lengths[-1].sum())
            ids.append(np.fromiter(chain.from_iterable(rows), np.int32, count))
            if self.typed:
                flat = chain.from_iterable(encoded["token_type_ids"])
                types.append(np.fromiter(flat, np.int8, count))
        return TokenRows(
            ids=np.concatenate([np.empty(0, np.int32), *ids]),
            types=np.concatenate([np.empty(0, np.int8), *types]) if self.typed else None,
            starts=np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths])),
            padding=(
                self.tokenizer.pad_token_id or 0,
                getattr(self.tokenizer, "pad_token_type_id", 0),
            ),
        )

    def count_cut(self, texts: Sequence[tuple[str, ...]], rows: TokenRows) -> int:
        """How many texts have more tokens than fit."""
        return len(self.cut_among(texts, rows))

    def cut_among(self, texts: Sequence[tuple[str, ...]], rows: TokenRows) -> list[int]:
        """Which texts have more tokens than fit; only those that fill all are looked at."""
        full = np.flatnonzero(rows.lengths >= self.max_length).tolist()
        if not full:
            return []
        whole = self._tokenized([texts[at] for at in full], truncation=False)["input_ids"]
        return [at for at, row in zip(full, whole, strict=True) if len(row) > self.max_length]

    def _tokenized(self, texts: Sequence[tuple[str, ...]], **settings: Any) -> Any:
        columns = [list(column) for column in zip(*texts, strict=True)]
        try:
            return self.tokenizer(
                *columns,
                return_attention_mask=False,
                # Asked for, because some tokenizers keep to themselves what their network needs.
                return_token_type_ids=self.typed,
                verbose=False,
                **settings,
            )
        except (TypeError, UnicodeError) as error:  # what tokenizers make of half a character
            refuse_halves(chain.from_iterable(texts), error)
            raise
