"""Vectors of words by a frozen transformer: each word as it reads in its sentence.

The words are given to the tokenizer as a parser has split them; the vector of a word is the mean of
those of its pieces in one layer. They are kept in 16 bits, since there is one for every word of
every sentence. For tokenizers over bytes, as of RoBERTa, a word begins with the space before it, so
that each is given one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.encoders.parses import Parses
from adequa.encoders.registry import written_out
from adequa.encoders.text_network import longest_input
from adequa.encoders.token_vectors import Lexicon, TokenVectors
from adequa.encoders.transformer_files import (
    digests,
    load_model,
    load_tokenizer,
    model_files,
    model_folder,
)
from adequa.errors import AdequaError
from adequa.remarks import Remark
from adequa.runtime.batches import batches_by_length
from adequa.runtime.half_characters import refuse_halves

_BATCH_TOKENS, _BATCH_SIZE = 4096, 128
_CHUNK = 1024  # sentences whose pieces are counted at once
_PREFIX = "add_prefix_space"
Pieces = npt.NDArray[np.int64]


class TransformerTokens(TokenVectors):
    """The words of sentences as a transformer reads them.

    Words beyond the tokens that it can take, and words that the tokenizer makes nothing of, have a
    vector of zeros.
    """

    is_contextual = True

    def __init__(
        self, folder: Path, network: Any, tokenizer: Any, layer: int, specification: str
    ) -> None:
        self.name = f"{folder.name}.{layer}"
        self.specification = specification
        self.dimension = int(network.config.hidden_size)
        self._spaced = _over_bytes(tokenizer)
        facts = [digests(model_files(folder)), layer, *([_PREFIX] if self._spaced else [])]
        described = json.dumps(["tokens", 1, *facts], sort_keys=True)
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()
        self._network, self._tokenizer, self._layer = network, tokenizer, layer
        self._longest = longest_input(network, tokenizer)
        # Sentences, over all calls, that had more tokens than it can take.
        self.cut = 0

    @classmethod
    def load(
        cls,
        path: str,
        *,
        layer: int = -1,
        device: str = "",
        download: bool = False,
        revision: str = "",
    ) -> TransformerTokens:
        """Load a folder, or a model of the hub that was downloaded before (or is, if asked to).

        `layer` counts from 0, the vectors of the pieces before all layers; -1 is the last one.
        """
        folder = model_folder(path, download=download, revision=revision)
        network, tokenizer = load_model(folder)
        if not getattr(tokenizer, "is_fast", False):
            raise AdequaError(
                f"{folder} has a tokenizer that does not tell which word a piece is of; a model "
                "with tokenizer.json does."
            )
        if _over_bytes(tokenizer):  # some versions refuse words without it
            tokenizer = load_tokenizer(folder, **{_PREFIX: True})
        count = int(network.config.num_hidden_layers)
        if not -1 <= layer <= count:
            raise AdequaError(
                f"{folder} has the layers 0 to {count}, and -1 for the last; not {layer}."
            )
        chosen = count if layer == -1 else layer
        place = str(folder) if Path(path).is_dir() else path
        settings = {"layer": str(chosen)} | ({"revision": revision} if revision else {})
        return cls(
            folder,
            _placed(network, device),
            tokenizer,
            chosen,
            written_out("transformer", place, settings),
        )

    def look_up(self, parses: Parses) -> Lexicon:
        table = np.zeros((len(parses.words), self.dimension), dtype=np.float16)
        known = np.zeros(len(parses.words), dtype=np.bool_)
        filled = np.flatnonzero(np.diff(parses.starts)).tolist()
        sentences = [parses.tree(row)[0] for row in filled]
        for batch in batches_by_length(
            self._lengths(sentences), max_tokens=_BATCH_TOKENS, max_count=_BATCH_SIZE
        ):
            places, vectors = self._read([sentences[at] for at in batch.tolist()])
            starts = parses.starts[[filled[at] for at in batch.tolist()]]
            at = np.concatenate(places) + np.repeat(starts, [len(each) for each in places])
            with np.errstate(over="ignore"):
                table[at], known[at] = vectors, True
            if not np.isfinite(table[at]).all():
                raise AdequaError(
                    f"{self.name} gives vectors with numbers that 16 bits do not hold, or that are "
                    "none; name another layer with layer=N."
                )
        return Lexicon(table, np.arange(len(parses.words)), known)

    def _lengths(self, sentences: Sequence[tuple[str, ...]]) -> list[int]:
        """The pieces of each: words of one number may be of very different numbers of pieces."""
        chunks = (sentences[at : at + _CHUNK] for at in range(0, len(sentences), _CHUNK))
        return [len(ids) for chunk in chunks for ids in self._split(chunk)["input_ids"]]

    def _split(self, sentences: Sequence[tuple[str, ...]], **more: Any) -> Any:
        """The pieces of sentences, as the tokenizer has them."""
        before = " " if self._spaced else ""
        try:
            return self._tokenizer(
                [[before + word for word in words] for words in sentences],
                is_split_into_words=True,
                truncation=True,
                max_length=self._longest,
                verbose=False,
                **more,
            )
        except (TypeError, UnicodeError) as error:  # what tokenizers make of half a character
            refuse_halves([word for words in sentences for word in words], error)
            raise
        except (AssertionError, ValueError) as error:
            raise AdequaError(
                f"The tokenizer of {self.name} cannot read sentences that are split into words; "
                f"name another model. The reason: {str(error).partition(chr(10))[0]}"
            ) from error

    def _read(self, sentences: Sequence[tuple[str, ...]]) -> tuple[list[Pieces], np.ndarray]:
        """Of each sentence the words that have pieces, and the vectors of all these words."""
        import torch  # noqa: PLC0415  # an extra, and heavy

        encoded = self._split(sentences, padding=True, return_tensors="pt")
        # One number for each different word of the batch; pieces that are of no word have -1.
        owners = [
            np.array([-1 if word is None else word for word in encoded.word_ids(row)])
            for row in range(len(sentences))
        ]
        places = [np.unique(row[row >= 0]) for row in owners]
        self.cut += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        ends = np.cumsum([len(there) for there in places])
        numbers = np.stack(
            [
                np.where(row >= 0, np.searchsorted(there, row) + end - len(there), ends[-1])
                for row, there, end in zip(owners, places, ends.tolist(), strict=True)
            ]
        )
        device = self._network.device
        with torch.no_grad():
            read = self._network(**encoded.to(device), output_hidden_states=True)
            states = read.hidden_states[self._layer].flatten(0, 1).float()
            at = torch.from_numpy(numbers.reshape(-1)).to(device)
            sums = states.new_zeros(int(ends[-1]) + 1, states.shape[1]).index_add_(0, at, states)
            counts = torch.bincount(at, minlength=len(sums)).clamp(min=1)
            vectors = (sums / counts[:, None])[:-1].cpu().numpy()
        return places, vectors

    def noticed(self) -> tuple[Remark, ...]:
        before = f"{self.name} read the first {self._longest} tokens only of "
        return (Remark((before, " sentences."), (before, " sentence."), (self.cut,)),)


def _over_bytes(tokenizer: Any) -> bool:
    """Whether a word's first piece is one that has the space before it."""
    splitting = tokenizer.backend_tokenizer.pre_tokenizer
    return splitting is not None and b'"ByteLevel"' in splitting.__getstate__()


def _placed(network: Any, device: str) -> Any:
    import torch  # noqa: PLC0415  # an extra, and heavy

    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return network.to(torch.device(chosen))
    except (RuntimeError, AssertionError) as error:
        raise AdequaError(f'There is no device "{chosen}" to read on.') from error
