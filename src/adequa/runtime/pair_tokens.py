"""Pairs of texts as rows of token ids, as a tokenizer would put them together, windows included.

Each different text of those that are read together is read once, however many of their pairs it is
in. All of it is text: a hypothesis that holds `[SEP]` is not cut in two by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.runtime.batches import distinct
from adequa.runtime.half_characters import refuse_halves
from adequa.runtime.onnx_model import IDS, MASK, TYPES
from adequa.runtime.pair_scores import Pair
from adequa.runtime.windows import Kinds, kinds_of_cuts, windows

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_CHUNK = 4096  # texts given to the tokenizer at a time, which bounds the memory of its lists
_PADDING = ("[PAD]", "<pad>", "<|pad|>")  # what tokenizers call the token that fills up
_PROBES = ("a", "1", "the", ".")  # texts with tokens in nearly every vocabulary
# Of which the length of a batch is one. onnxruntime adds tokens up by twos or more: a length that
# is no multiple would group the tokens of a row otherwise, and move its score by its last bits.
_MULTIPLE = 4

Places = npt.NDArray[np.int64]
Specials = list[tuple[int, int]]  # ids and types of tokens that are of neither text


@dataclass(frozen=True, slots=True)
class Template:
    """How a tokenizer puts two texts together: special tokens before, between and behind them."""

    before: Specials
    between: Specials
    behind: Specials
    types: tuple[int, int]  # of the tokens of either text

    @property
    def count(self) -> int:
        """How many special tokens there are."""
        return len(self.before) + len(self.between) + len(self.behind)


@dataclass(frozen=True, slots=True, eq=False)
class PairRows:
    """The rows of many pairs, one after the other in one array; a long pair has several."""

    ids: npt.NDArray[np.int32]
    types: npt.NDArray[np.int8]
    starts: Places  # of each row, and the end of the last
    pairs: npt.NDArray[np.intp]  # which pair a row is of, in order
    special: int  # tokens of each row that are of neither text
    max_length: int
    padding: int  # the id that fills up a row

    @property
    def lengths(self) -> Places:
        """Tokens of each row."""
        return np.diff(self.starts)

    @property
    def padded_lengths(self) -> Places:
        """Tokens of each row where it is read with none that is longer."""
        filled = -(-self.lengths // _MULTIPLE) * _MULTIPLE
        return np.asarray(np.minimum(filled, self.max_length))

    def padded(self, rows: npt.NDArray[np.intp]) -> dict[str, Places]:
        """The inputs of a model for these rows, filled up to the next multiple of a few tokens."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        there = np.arange(int(self.padded_lengths[rows].max())) < lengths[:, None]
        places = _ranges(self.starts[rows], lengths)
        inputs = {
            IDS: np.full(there.shape, self.padding, np.int64),
            TYPES: np.zeros(there.shape, np.int64),
            MASK: there.astype(np.int64),
        }
        inputs[IDS][there] = self.ids[places]
        inputs[TYPES][there] = self.types[places]
        return inputs


@dataclass(frozen=True, slots=True)
class PairReader:
    """A tokenizer for pairs of at most `max_length` tokens, special ones included."""

    tokenizer: Tokenizer
    template: Template
    max_length: int
    padding: int
    several_threads: bool = True  # as many as the tokenizer likes, or one

    @classmethod
    def open(cls, path: Path, max_length: int, *, several_threads: bool = True) -> PairReader:
        """A tokenizer from its file."""
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415  # slow to import, and only here
        except ImportError as error:
            raise AdequaError(
                f"Scoring with this metric needs tokenizers, which cannot be imported ({error}): "
                "pip install tokenizers."
            ) from error
        try:
            tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise AdequaError(f"{path} cannot be read: {error.strerror or error}.") from error
        except Exception as error:  # tokenizers raises no class of its own
            raise AdequaError(f"{path} is no tokenizer that can be opened: {error}.") from error
        tokenizer.no_truncation()
        named = tokenizer.padding or {}
        known = (tokenizer.token_to_id(name) for name in _PADDING)
        padding = named.get("pad_id", next((id_ for id_ in known if id_ is not None), 0))
        tokenizer.no_padding()
        # What a user writes is never a control token, whatever it looks like.
        tokenizer.encode_special_tokens = True
        template = _template(path, tokenizer)
        return cls(tokenizer, template, max_length, padding, several_threads)

    def read(self, pairs: Sequence[Pair]) -> PairRows:
        """The rows of pairs; those that are too long in windows."""
        texts, at = distinct(list(chain.from_iterable(pairs)))
        ids, starts = self._ids(texts)
        sides = at.reshape(-1, 2)
        begin, length = starts[sides], np.diff(starts)[sides]
        room = self.max_length - self.template.count
        long = np.flatnonzero(length.sum(axis=1) > room)
        if not len(long):
            return self._rows(ids, begin, length, np.arange(len(pairs)))
        return self._rows(ids, *self._in_windows(texts, sides, begin, length, long.tolist()))

    def _in_windows(
        self,
        texts: list[str],
        sides: npt.NDArray[np.intp],
        begin: Places,
        length: Places,
        long: list[int],
    ) -> tuple[Places, Places, npt.NDArray[np.intp]]:
        """Beginnings and lengths of both texts in every row, and the pair of the row."""
        room = self.max_length - self.template.count
        kinds: dict[int, Kinds] = {}
        for text in np.unique(sides[long]).tolist():
            kinds[text] = self._kinds(texts[text])
        counts = np.ones(len(sides), dtype=np.intp)
        parts = {row: windows(kinds[sides[row, 0]], kinds[sides[row, 1]], room) for row in long}
        counts[long] = [len(parts[row]) for row in long]
        pairs = np.repeat(np.arange(len(sides)), counts)
        begins, lengths = begin[pairs], length[pairs]
        first = np.cumsum(counts) - counts
        for row, part in parts.items():
            where = slice(first[row], first[row] + len(part))
            cuts = np.stack([part.first, part.second], axis=1)
            begins[where] += cuts[:-1]
            lengths[where] = np.diff(cuts, axis=0)
        return begins, lengths, pairs

    def _rows(
        self, ids: npt.NDArray[np.int32], begin: Places, length: Places, pairs: Places
    ) -> PairRows:
        """Texts and special tokens put together, row by row."""
        form = self.template
        starts = np.concatenate([[0], np.cumsum(length.sum(axis=1) + form.count)])
        row_ids = np.empty(starts[-1], dtype=np.int32)
        types = np.empty(starts[-1], dtype=np.int8)
        place = starts[:-1].copy()
        for specials, side in ((form.before, 0), (form.between, 1), (form.behind, None)):
            for id_, type_ in specials:
                row_ids[place], types[place] = id_, type_
                place += 1
            if side is not None:
                there = _ranges(place, length[:, side])
                row_ids[there] = ids[_ranges(begin[:, side], length[:, side])]
                types[there] = form.types[side]
                place += length[:, side]
        return PairRows(row_ids, types, starts, pairs, form.count, self.max_length, self.padding)

    def _ids(self, texts: list[str]) -> tuple[npt.NDArray[np.int32], Places]:
        """The tokens of all texts, one text after the other, and where each begins."""
        ids, lengths = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for start in range(0, len(texts), _CHUNK):
            some = texts[start : start + _CHUNK]
            try:
                encoded = self._encoded(some)
            except Exception as error:  # tokenizers raises no class of its own
                refuse_halves(some, error)
                raise AdequaError(f"The tokenizer cannot read a text: {error}.") from error
            rows = [each.ids for each in encoded]
            lengths.append(np.fromiter(map(len, rows), np.int64, len(rows)))
            flat = chain.from_iterable(rows)
            ids.append(np.fromiter(flat, np.int32, int(lengths[-1].sum())))
        return np.concatenate(ids), np.cumsum(np.concatenate(lengths))

    def _encoded(self, texts: list[str]) -> list[Encoding]:
        if self.several_threads:
            found: list[Encoding] = self.tokenizer.encode_batch_fast(
                texts, add_special_tokens=False
            )
            return found
        return [self.tokenizer.encode(text, add_special_tokens=False) for text in texts]

    def _kinds(self, text: str) -> Kinds:
        """What stands before each token of a text."""
        return kinds_of_cuts(text, self.tokenizer.encode(text, add_special_tokens=False).offsets)


def _ranges(begin: Places, length: Places) -> Places:
    """The places from each beginning on, one range after the other.

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(length)
    return np.arange(length.sum()) + np.repeat(begin - ends + length, length)


def _template(path: Path, tokenizer: Tokenizer) -> Template:
    """How a tokenizer puts two texts together, found out by giving it two."""
    encoded = next(filter(None, (_probed(tokenizer, probe) for probe in _probes(tokenizer))), None)
    if encoded is None:
        raise AdequaError(f"{path} is a tokenizer that reads no pairs of texts.")
    sides, types = encoded.sequence_ids, encoded.type_ids
    tokens = list(zip(encoded.ids, types, strict=True))
    starts = sides.index(0), sides.index(1)
    ends = [len(sides) - sides[::-1].index(side) for side in (0, 1)]
    if ends[0] > starts[1]:
        raise AdequaError(f"{path} is a tokenizer that puts the second text before the first.")
    return Template(
        before=tokens[: starts[0]],
        between=tokens[ends[0] : starts[1]],
        behind=tokens[ends[1] :],
        types=(types[starts[0]], types[starts[1]]),
    )


def _probes(tokenizer: Tokenizer) -> Iterator[str]:
    """Texts to try; the whole vocabulary, which takes its time to list, only if it comes to it."""
    yield from _PROBES
    yield from tokenizer.get_vocab(with_added_tokens=False)


def _probed(tokenizer: Tokenizer, probe: str) -> Encoding | None:
    """A text paired with itself, if the tokenizer finds tokens in both."""
    try:
        encoded = tokenizer.encode(probe, probe)
    except Exception:  # noqa: BLE001  # a word that it does not know; it has no class of error
        return None
    return encoded if {0, 1} <= set(encoded.sequence_ids) else None
