"""Token ids of pairs of texts, as a tokenizer joins them; long pairs in windows.

Each different text is tokenized once, however many pairs it is in. All of it is text: a hypothesis
that contains `[SEP]` is not cut in two by it.

A pair too long for its model is read in windows, both texts side by side. Both are cut into equally
many windows at equal fractions of their lengths, as a translation says things in much the same
order as its reference. A cut moves to the end of a sentence near by, or else to the nearest end of
a word. Nothing is left out and nothing is read twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.files import read_regular
from adequa.runtime.batching import distinct
from adequa.segments import check_characters

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Pair = tuple[str, str]  # two texts, in the order in which a model reads them
Integers = npt.NDArray[np.int64]
SpecialTokens = list[tuple[int, int]]  # ids and types

IDS, MASK, TYPES = "input_ids", "attention_mask", "token_type_ids"  # the inputs of a model

_CHUNK = 4096  # texts tokenized at a time, which bounds the memory of Python's lists
_PADDING_TOKENS = ("[PAD]", "<pad>", "<|pad|>")
_PROBES = ("a", "1", "the", ".")  # texts with tokens in nearly every vocabulary
# Batches have a length that is a multiple of this. onnxruntime sums tokens in groups of two or
# more: other lengths would group the tokens of a row differently, and change its score's last bits.
_MULTIPLE = 4

INSIDE, WORD, SENTENCE = 0, 1, 2  # kinds of boundary before a token, from worst to best cut
MIN_TOKENS = 2  # that a window must be able to hold: one of each text

Boundaries = npt.NDArray[np.int8]
Cuts = npt.NDArray[np.intp]

# How far a cut may move, as fractions of a window; less where windows would become too long.
_MARGINS = (0.2, 0.1, 0.05, 0.02, 0.0)
_ENDS = frozenset(".!?…。！？｡؟।॥")  # of a sentence
_ENDS_WITHOUT_SPACE = frozenset("。！？｡")  # of a sentence, also where no space follows
_CLOSING = frozenset("\"'”’»)]}」』）")  # may stand between the end of a sentence and the space


@dataclass(frozen=True, slots=True)
class Template:
    """How a tokenizer joins two texts: special tokens before, between and after them."""

    before: SpecialTokens
    between: SpecialTokens
    after: SpecialTokens
    types: tuple[int, int]  # token types of the two texts

    @property
    def count(self) -> int:
        """The number of special tokens."""
        return len(self.before) + len(self.between) + len(self.after)


@dataclass(frozen=True, slots=True, eq=False)
class PairRows:
    """Token ids of many pairs, one row after the other in one array; a long pair has several."""

    ids: npt.NDArray[np.int32]
    types: npt.NDArray[np.int8]
    starts: Integers  # of each row, and the end of the last
    pairs: npt.NDArray[np.intp]  # the pair of each row, in order
    special: int  # special tokens of each row
    max_length: int
    padding: int  # id of the padding token

    @property
    def lengths(self) -> Integers:
        """Tokens of each row."""
        return np.diff(self.starts)

    @property
    def padded_lengths(self) -> Integers:
        """Tokens of each row in a batch of its own."""
        rounded = -(-self.lengths // _MULTIPLE) * _MULTIPLE
        return np.asarray(np.minimum(rounded, self.max_length))

    def padded(self, rows: npt.NDArray[np.intp]) -> dict[str, Integers]:
        """Return the inputs of a model for a batch of rows."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        mask = np.arange(int(self.padded_lengths[rows].max())) < lengths[:, None]
        tokens = _ranges(self.starts[rows], lengths)
        inputs = {
            IDS: np.full(mask.shape, self.padding, np.int64),
            TYPES: np.zeros(mask.shape, np.int64),
            MASK: mask.astype(np.int64),
        }
        inputs[IDS][mask] = self.ids[tokens]
        inputs[TYPES][mask] = self.types[tokens]
        return inputs


@dataclass(frozen=True, slots=True)
class PairTokenizer:
    """A tokenizer for pairs of at most `max_length` tokens, special ones included."""

    backend: Tokenizer
    template: Template
    max_length: int
    padding: int  # id of the padding token
    parallel: bool = True  # whether the backend may use threads

    @classmethod
    def open(cls, path: Path, max_length: int, *, parallel: bool = True) -> PairTokenizer:
        """Open a tokenizer.json."""
        from tokenizers import Tokenizer  # noqa: PLC0415  # slow to import, and only here

        content = read_regular(path)
        try:
            with _panics_as_errors():
                backend = Tokenizer.from_str(content.decode("utf-8"))
        except Exception as error:  # tokenizers raises no class of its own
            raise AdequaError(f"{path} is no tokenizer that can be opened: {error}.") from error
        backend.no_truncation()
        settings = backend.padding or {}
        ids = (backend.token_to_id(token) for token in _PADDING_TOKENS)
        padding = settings.get("pad_id", next((id_ for id_ in ids if id_ is not None), 0))
        backend.no_padding()
        # What a user writes is never a control token, whatever it looks like.
        backend.encode_special_tokens = True
        return cls(backend, _template(path, backend), max_length, padding, parallel)

    def encode(self, pairs: Sequence[Pair]) -> PairRows:
        """Return the rows of pairs; those that are too long in windows."""
        texts, inverse = distinct(list(chain.from_iterable(pairs)))
        ids, starts = self._ids(texts)
        sides = inverse.reshape(-1, 2)
        begins, lengths = starts[sides], np.diff(starts)[sides]
        long = np.flatnonzero(lengths.sum(axis=1) > self.max_length - self.template.count)
        if not len(long):
            return self._rows(ids, begins, lengths, np.arange(len(pairs)))
        return self._rows(ids, *self._in_windows(texts, sides, begins, lengths, long.tolist()))

    def _in_windows(
        self,
        texts: list[str],
        sides: npt.NDArray[np.intp],
        begins: Integers,
        lengths: Integers,
        long: list[int],
    ) -> tuple[Integers, Integers, npt.NDArray[np.intp]]:
        """Return the start and length of both texts in every row, and the pair of every row."""
        limit = self.max_length - self.template.count
        boundaries = {
            text: self._boundaries(texts[text]) for text in np.unique(sides[long]).tolist()
        }
        windows = {
            pair: split_windows(boundaries[sides[pair, 0]], boundaries[sides[pair, 1]], limit)
            for pair in long
        }
        counts = np.ones(len(sides), dtype=np.intp)
        counts[long] = [len(windows[pair]) for pair in long]
        pairs = np.repeat(np.arange(len(sides)), counts)
        begins, lengths = begins[pairs], lengths[pairs]
        first = np.cumsum(counts) - counts
        for pair, parts in windows.items():
            rows = slice(first[pair], first[pair] + len(parts))
            cuts = np.stack([parts.first, parts.second], axis=1)
            begins[rows] += cuts[:-1]
            lengths[rows] = np.diff(cuts, axis=0)
        return begins, lengths, pairs

    def _rows(
        self, ids: npt.NDArray[np.int32], begins: Integers, lengths: Integers, pairs: Integers
    ) -> PairRows:
        """Join texts and special tokens, row by row."""
        template = self.template
        starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=1) + template.count)])
        row_ids = np.empty(starts[-1], dtype=np.int32)
        types = np.empty(starts[-1], dtype=np.int8)
        position = starts[:-1].copy()
        for specials, side in ((template.before, 0), (template.between, 1), (template.after, None)):
            for id_, type_ in specials:
                row_ids[position], types[position] = id_, type_
                position += 1
            if side is not None:
                tokens = _ranges(position, lengths[:, side])
                row_ids[tokens] = ids[_ranges(begins[:, side], lengths[:, side])]
                types[tokens] = template.types[side]
                position += lengths[:, side]
        return PairRows(
            row_ids, types, starts, pairs, template.count, self.max_length, self.padding
        )

    def _ids(self, texts: list[str]) -> tuple[npt.NDArray[np.int32], Integers]:
        """Return the tokens of all texts, one text after the other, and where each starts."""
        ids, lengths = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            try:
                with _panics_as_errors():
                    encodings = self._encodings(chunk)
            except Exception as error:  # tokenizers raises no class of its own
                check_characters(chunk, error)
                raise AdequaError(f"The tokenizer cannot read a text: {error}.") from error
            rows = [encoding.ids for encoding in encodings]
            lengths.append(np.fromiter(map(len, rows), np.int64, len(rows)))
            flat = chain.from_iterable(rows)
            ids.append(np.fromiter(flat, np.int32, int(lengths[-1].sum())))
        return np.concatenate(ids), np.cumsum(np.concatenate(lengths))

    def _encodings(self, texts: list[str]) -> list[Encoding]:
        if self.parallel:
            encodings: list[Encoding] = self.backend.encode_batch_fast(
                texts, add_special_tokens=False
            )
            return encodings
        return [self.backend.encode(text, add_special_tokens=False) for text in texts]

    def _boundaries(self, text: str) -> Boundaries:
        encoding = self.backend.encode(text, add_special_tokens=False)
        return token_boundaries(text, encoding.offsets)


@contextmanager
def _panics_as_errors() -> Iterator[None]:
    """Raise a panic of tokenizers as an error: Python sees it as it sees an interrupt."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(str(error)) from error


def _ranges(begins: Integers, lengths: Integers) -> Integers:
    """Return the integers of ranges by their starts and lengths, one range after the other.

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(lengths.sum()) + np.repeat(begins - ends + lengths, lengths)


def _template(path: Path, backend: Tokenizer) -> Template:
    """Find out how a tokenizer joins two texts, by giving it two."""
    encodings = (_probe(backend, text) for text in _probe_texts(backend))
    encoding = next(filter(None, encodings), None)
    if encoding is None:
        raise AdequaError(f"{path} is a tokenizer that reads no pairs of texts.")
    sides, types = encoding.sequence_ids, encoding.type_ids
    tokens = list(zip(encoding.ids, types, strict=True))
    starts = sides.index(0), sides.index(1)
    ends = [len(sides) - sides[::-1].index(side) for side in (0, 1)]
    return Template(
        before=tokens[: starts[0]],
        between=tokens[ends[0] : starts[1]],
        after=tokens[ends[1] :],
        types=(types[starts[0]], types[starts[1]]),
    )


def _probe_texts(backend: Tokenizer) -> Iterator[str]:
    """Texts to try; the whole vocabulary, which takes long to list, only as a last resort."""
    yield from _PROBES
    yield from backend.get_vocab(with_added_tokens=False)


def _probe(backend: Tokenizer, text: str) -> Encoding | None:
    """Return a text paired with itself, if the tokenizer finds tokens in both."""
    try:
        with _panics_as_errors():
            encoding = backend.encode(text, text)
    except Exception:  # noqa: BLE001  # a word that it does not know; it has no class of error
        return None
    return encoding if {0, 1} <= set(encoding.sequence_ids) else None


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Where the windows of a pair start, in tokens of each text, and where the last one ends."""

    first: Cuts
    second: Cuts

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def lengths(self) -> npt.NDArray[np.intp]:
        """Tokens of each window, of both texts together."""
        return np.diff(self.first) + np.diff(self.second)


def split_windows(first: Boundaries, second: Boundaries, limit: int) -> Windows:
    """Return the fewest windows of at most `limit` tokens, by the boundaries of both texts.

    >>> windows = split_windows(np.zeros(7, np.int8), np.zeros(5, np.int8), limit=6)
    >>> windows.first.tolist(), windows.second.tolist()
    ([0, 4, 7], [0, 2, 5])
    """
    if limit < MIN_TOKENS:
        raise AdequaError(f"A window of {limit} tokens cannot hold a token of both texts.")
    total = len(first) + len(second)
    for parts in count(max(-(-total // limit), 1)):
        for margin in _MARGINS:
            windows = Windows(_cuts(first, parts, margin), _cuts(second, parts, margin))
            if windows.lengths.max() <= limit:
                return windows
    raise AssertionError  # windows of one token each fit


def combine_scores(scores: npt.NDArray[np.float64], lengths: npt.NDArray[np.intp]) -> float:
    """Return the score of a pair: the mean of its windows' scores, weighted by their tokens.

    >>> combine_scores(np.array([0.25, 1.0]), np.array([20, 10]))
    0.5
    """
    return float(np.average(scores, weights=lengths)) if lengths.any() else float(scores.mean())


def token_boundaries(text: str, offsets: Sequence[tuple[int, int]]) -> Boundaries:
    """Return the kind of boundary before each token of a text, by the characters it spans.

    >>> token_boundaries("So it is. Now", [(0, 2), (3, 5), (6, 8), (8, 9), (10, 13)]).tolist()
    [0, 1, 1, 0, 2]
    """
    return np.fromiter(
        (_boundary(text, start) for start, _ in offsets), dtype=np.int8, count=len(offsets)
    )


def _boundary(text: str, start: int) -> int:
    """The kind of boundary before a character; a token may include the space before it."""
    end = start
    while end and text[end - 1].isspace():
        end -= 1
    spaced = end < start or text[start : start + 1].isspace()
    while end and text[end - 1] in _CLOSING:
        end -= 1
    before = text[end - 1 : end]
    if before and before in (_ENDS if spaced else _ENDS_WITHOUT_SPACE):
        return SENTENCE
    return WORD if spaced and start else INSIDE


def _cuts(boundaries: Boundaries, parts: int, margin: float) -> Cuts:
    """Cut a text into parts of equal length, or at a better boundary within a margin."""
    cuts = np.round(np.linspace(0, len(boundaries), parts + 1)).astype(np.intp)
    tokens = int(margin * len(boundaries) / parts)
    if tokens:
        cuts[1:-1] = [_best_cut(boundaries, int(cut), tokens) for cut in cuts[1:-1]]
    return cuts


def _best_cut(boundaries: Boundaries, cut: int, margin: int) -> int:
    """Return the best boundary within a margin around a cut, the nearest of equally good ones."""
    start = max(cut - margin, 0)
    near = boundaries[start : cut + margin + 1]
    if not len(near) or near.max() == INSIDE:
        return cut
    best = start + np.flatnonzero(near == near.max())
    return int(best[np.abs(best - cut).argmin()])
