"""Tokenization: words by rules, such as those of the Penn Treebank, and token ids of transformers.

InferSent, Skip-Thought and Quick-Thought were trained on words that NLTK's `word_tokenize` had
split: punctuation by itself, `do n't`, `it 's`, `` and '' for straight quotation marks.
`treebank_words` gives the same words, except for odd quotation marks, without NLTK, which needs a
download to find where sentences end. A full stop inside a text is split off its word where a
capital letter follows and the word is no well-known abbreviation.

A transformer's tokenizer turns texts into ids (`Reader`), which are kept in one flat array and
padded a batch at a time (`TokenRows`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adequa.segments import check_characters

_SINGLE: Final = r"\[\](){}<>?!;@#$%&*‒–—―«»“”‘’„"
_PIECE: Final = re.compile(
    rf"""\.{{2,}} | -- | `+ | '' | " | [{_SINGLE}] | [:,](?!\d)
    | (?: [^\s{_SINGLE}`".,:'-] | \.(?!\.) | [:,](?=\d) | -(?!-) | '(?!') )+""",
    re.VERBOSE,
)
_OPENING: Final = re.compile(r"""(?:^|(?<=[\s(\[{<]))(?:"|'')""")
_FINAL_STOP: Final = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»”’\s]*$)""")
_INNER_STOP: Final = re.compile(r"""(\S+)\.(?=[\])}>"'»”’]*\s+[(\["'“‘«]*[^\W\d_])""")
_CLITIC: Final = re.compile(r"(.*[^'])('[sSmMdD]|'ll|'LL|'re|'RE|'ve|'VE|n't|N'T|')")
_OPENING_APOSTROPHE: Final = re.compile(r"'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_CONTRACTIONS: Final = {  # where each is split
    "cannot": 3,
    "d'ye": 1,
    "gimme": 3,
    "gonna": 3,
    "gotta": 3,
    "lemme": 3,
    "more'n": 4,
    "wanna": 3,
}
_ABBREVIATION_LIST: Final = (
    "adm brig capt cmdr co col corp dr drs e.g etc gen gov hon i.e inc jr lt ltd maj messrs "
    "mr mrs ms mt prof rep rev sen sgt sr st ste vs jan feb mar apr aug sept oct nov "
    "dec"
)
_ABBREVIATIONS: Final = frozenset(_ABBREVIATION_LIST.split())


def treebank_words(text: str) -> list[str]:
    """Split a text into words.

    >>> treebank_words('He didn\\'t say "No." Mr. Wu\\'s cat cannot.')
    ['He', 'did', "n't", 'say', '``', 'No', '.', "''", 'Mr.', 'Wu', "'s", 'cat', 'can', 'not', '.']
    >>> treebank_words("It costs $3,500.50 (roughly), in the U.S. -- or so...")[:8]
    ['It', 'costs', '$', '3,500.50', '(', 'roughly', ')', ',']
    """
    marked = _OPENING.sub(" `` ", text)
    marked = _FINAL_STOP.sub(" . ", _INNER_STOP.sub(_split_stop, marked))
    words: list[str] = []
    for piece in _PIECE.findall(marked):
        words += _split_clitics(piece)
    return words


def _split_stop(match: re.Match[str]) -> str:
    """Split the full stop off a word where a sentence ends: before a capital letter."""
    word = match[1]
    if not _next_letter(match).isupper():
        return match[0]
    bare = word.lstrip("([{<\"'“‘«`")
    is_abbreviation = len(bare) == 1 or bare.lower() in _ABBREVIATIONS or "." in bare
    return match[0] if is_abbreviation and not bare.isdigit() else f"{word} . "


def _next_letter(match: re.Match[str]) -> str:
    """Return the first letter after the stop; the pattern ensures that there is one."""
    rest = match.string[match.end() :]
    return next(letter for letter in rest if letter.isalpha())


def _split_clitics(piece: str) -> list[str]:
    """Split a piece without spaces into a word and its clitics."""
    if piece == '"':
        return ["''"]
    split = _CONTRACTIONS.get(piece.lower())
    if split is not None:
        return [piece[:split], piece[split:]]
    if _OPENING_APOSTROPHE.match(piece):
        return ["'", *_split_clitics(piece[1:])]
    clitic = _CLITIC.fullmatch(piece)
    return [clitic[1], clitic[2]] if clitic else [piece]


WORD_TOKENIZERS: Final = ("treebank", "plain", "13a", "intl", "zh", "char", "none")
_APOSTROPHES: Final = str.maketrans("’ʼ＇", "'''")
_PLAIN: Final = re.compile(r"\w+|[^\w\s]")


def word_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into words; most names are those of sacreBLEU."""
    if name == "treebank":
        return _english_words
    if name == "plain":
        return _plain_words
    if name == "none":
        return str.split
    from sacrebleu import BLEU  # noqa: PLC0415  # slow to import

    return partial(_split_tokenized, BLEU(tokenize=name).tokenizer)


def _split_tokenized(tokenizer: Callable[[str], str], text: str) -> list[str]:
    return tokenizer(text).split()


def _plain_words(text: str) -> list[str]:
    """Split a text into runs of letters and digits, and single other visible characters.

    >>> _plain_words("It’s well-known: 3.5!")
    ['It', '’', 's', 'well', '-', 'known', ':', '3', '.', '5', '!']
    """
    return _PLAIN.findall(text)


def _english_words(text: str) -> list[str]:
    """Split a text into Treebank words, with typographic apostrophes as plain ones.

    >>> _english_words("It’s Anna's.")
    ['It', "'s", 'Anna', "'s", '.']
    """
    return treebank_words(text.translate(_APOSTROPHES))


_CHUNK = 8192  # texts tokenized at a time, which bounds the memory of their lists

Rows = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class TokenRows:
    """The token ids of many texts, concatenated in one array."""

    ids: npt.NDArray[np.int32]
    types: npt.NDArray[np.int8] | None  # token type ids, where the network has them
    starts: npt.NDArray[np.int64]  # of each text, and the end of the last one
    padding: tuple[int, int]  # the id and the type of the padding token

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of each text."""
        return np.diff(self.starts)

    def padded(self, rows: Rows) -> dict[str, npt.NDArray[np.int64]]:
        """Return the inputs of a network for these texts, padded on the right."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        positions = np.arange(int(lengths.max()))
        mask = positions < lengths[:, None]
        index = (self.starts[rows][:, None] + positions)[mask]
        inputs = {"input_ids": np.full(mask.shape, self.padding[0], np.int64)}
        inputs["input_ids"][mask] = self.ids[index]
        if self.types is not None:
            inputs["token_type_ids"] = np.full(mask.shape, self.padding[1], np.int64)
            inputs["token_type_ids"][mask] = self.types[index]
        return inputs | {"attention_mask": mask.astype(np.int64)}


@dataclass(frozen=True, slots=True)
class Reader:
    """A tokenizer, and the inputs that its network takes."""

    tokenizer: Any
    typed: bool  # whether the network takes token type ids
    max_length: int  # maximum number of tokens of a text or a pair

    @classmethod
    def of(cls, network: Any, tokenizer: Any, max_length: int) -> Reader:
        """Return the reader of a Hugging Face network."""
        parameters = signature(network.forward).parameters
        typed = "token_type_ids" in parameters and getattr(network.config, "type_vocab_size", 2) > 1
        return cls(tokenizer, typed, max_length)

    def read(self, texts: Sequence[tuple[str, ...]]) -> TokenRows:
        """Return the token ids of single texts or of pairs, truncated to `max_length`."""
        ids: list[npt.NDArray[np.int32]] = []
        types: list[npt.NDArray[np.int8]] = []
        lengths: list[npt.NDArray[np.int64]] = []
        for start in range(0, len(texts), _CHUNK):
            encoded = self._tokenize(
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

    def count_truncated(self, texts: Sequence[tuple[str, ...]], rows: TokenRows) -> int:
        """Return how many texts have more than `max_length` tokens."""
        return len(self.truncated_rows(texts, rows))

    def truncated_rows(self, texts: Sequence[tuple[str, ...]], rows: TokenRows) -> list[int]:
        """Return which texts have more than `max_length` tokens; tokenizes only full rows again."""
        full = np.flatnonzero(rows.lengths >= self.max_length).tolist()
        if not full:
            return []
        whole = self._tokenize([texts[row] for row in full], truncation=False)["input_ids"]
        return [row for row, ids in zip(full, whole, strict=True) if len(ids) > self.max_length]

    def _tokenize(self, texts: Sequence[tuple[str, ...]], **settings: Any) -> Any:
        columns = [list(column) for column in zip(*texts, strict=True)]
        try:
            return self.tokenizer(
                *columns,
                return_attention_mask=False,
                # Explicit, because some tokenizers leave out what their network needs.
                return_token_type_ids=self.typed,
                verbose=False,
                **settings,
            )
        except (TypeError, UnicodeError) as error:  # raised for half a character
            check_characters(chain.from_iterable(texts), error)
            raise
