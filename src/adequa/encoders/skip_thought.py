"""Skip-Thought (Kiros et al. 2015): the last state of GRUs that were trained on books.

Uni-skip is one GRU (2400 numbers), bi-skip one that reads forwards and one that reads backwards
(2 × 1200), combine-skip both models side by side (4800). The paper (§2.1) and the code that the
published weights were trained with differ in two places; the weights fit the code, which is
followed here. With the word x, the state h before and the candidate h̄:

    r = σ(W_r x + U_r h + b_r)
    z = σ(W_z x + U_z h + b_z)
    h̄ = tanh(W x + r ⊙ (U h) + b)    where the paper has U (r ⊙ h)
    h' = z ⊙ h + (1 - z) ⊙ h̄         where the paper has (1 - z) ⊙ h + z ⊙ h̄

In the files `encoder_W`, `encoder_U` and `encoder_b` hold the reset gate and then the update
gate, side by side; `encoder_Wx`, `encoder_Ux` and `encoder_bx` belong to the candidate.

The folder holds `dictionary.txt`, and for uni-skip `uni_skip.npz` and `utable.npy`, for bi-skip
`bi_skip.npz` and `btable.npy`. The authors' own files could not be had to try: the equations are
tested with small weights in the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adequa.encoders.base import Coverage, Encoder, Vectors, checked_vectors
from adequa.encoders.recurrent import (
    Arrays,
    GatedEncoder,
    check_word_size,
    chosen_device,
    content_digest,
    encode_in_batches,
    gated_unit,
    read_arrays,
    unit_length,
    word_coverage,
)
from adequa.encoders.tokens import treebank_words
from adequa.encoders.word_vector_files import open_table
from adequa.errors import AdequaError

if TYPE_CHECKING:
    from torch import Tensor

MODES: Final = {"uni": ("uni",), "bi": ("bi",), "combine": ("uni", "bi")}
WEIGHT_FILES: Final = {"uni": "uni_skip.npz", "bi": "bi_skip.npz"}
TABLE_FILES: Final = {"uni": "utable.npy", "bi": "btable.npy"}
DICTIONARY: Final = "dictionary.txt"
PREFIXES: Final = {"uni": ("encoder",), "bi": ("encoder", "encoder_r")}
UNKNOWN: Final = "UNK"
END: Final = "<eos>"
# The authors' names of the weights, by ours.
_WEIGHTS: Final = {
    "word_gates": "W",
    "state_gates": "U",
    "gate_bias": "b",
    "word_candidate": "Wx",
    "state_candidate": "Ux",
    "candidate_bias": "bx",
}
_CONVERTER: Final = "python -m adequa.encoders.converters.skip_thought FOLDER NEW_FOLDER"


def weight_names(model: str) -> tuple[str, ...]:
    """The arrays that the weights of uni-skip or bi-skip consist of.

    >>> weight_names("bi")[5:8]
    ('encoder_bx', 'encoder_r_W', 'encoder_r_U')
    """
    return tuple(f"{prefix}_{name}" for prefix in PREFIXES[model] for name in _WEIGHTS.values())


class SkipThought(Encoder):
    """Uni-skip, bi-skip and combine-skip, from a folder in the authors' layout."""

    def __init__(
        self,
        path: Path,
        models: tuple[GatedEncoder, ...],
        fingerprint: str,
        *,
        mode: str,
        normalize: bool,
        use_eos: bool,
        device: str,
    ) -> None:
        self.path = path
        self.name = f"{mode}-skip"
        self.fingerprint = fingerprint
        self.dimension = sum(model.size for model in models)
        self.specification = f"skip-thought:{path},mode={mode}"
        self.specification += "" if normalize else ",normalize=false"
        self.specification += ",use_eos=true" if use_eos else ""
        self._models = models
        self._normalize = normalize
        self._use_eos = use_eos
        self._device = device

    @classmethod
    def load(
        cls,
        path: str,
        *,
        mode: str = "combine",
        normalize: bool = True,
        use_eos: bool = False,
        device: str = "",
    ) -> SkipThought:
        """The encoder in a folder; as in the authors' `encode`, vectors have length one.

        `normalize` scales the vectors of uni-skip and of bi-skip to length one, each for itself;
        `use_eos` puts the word `<eos>` at the end of every sentence.
        """
        folder = Path(path).expanduser().resolve()
        if mode not in MODES:
            raise AdequaError(f"skip-thought: mode must be {', '.join(MODES)}, not {mode!r}.")
        if not folder.is_dir():
            raise AdequaError(
                f"{path} is not a folder; Skip-Thought needs one that holds {DICTIONARY}, "
                f"{' and '.join(WEIGHT_FILES[each] for each in MODES[mode])}, and "
                f"{' and '.join(TABLE_FILES[each] for each in MODES[mode])}."
            )
        chosen = chosen_device("skip-thought", device)
        settings: dict[str, object] = {
            "kind": "skip-thought",
            "mode": mode,
            "normalize": normalize,
            "eos": use_eos,
        }
        arrays: Arrays = {}
        models = tuple(_model(folder, each, chosen, arrays, settings) for each in MODES[mode])
        return cls(
            folder,
            models,
            content_digest(settings, arrays),
            mode=mode,
            normalize=normalize,
            use_eos=use_eos,
            device=chosen,
        )

    def encode(self, sentences: Sequence[str]) -> Vectors:
        vectors = encode_in_batches(sentences, self._words, self._encoded, self.dimension)
        return checked_vectors(self.name, vectors, len(sentences), self.dimension)

    def coverage(self, sentences: Sequence[str]) -> Coverage:
        words = [treebank_words(sentence) for sentence in sentences]
        return word_coverage(words, self._models[0].table)

    def _words(self, sentence: str) -> list[str]:
        return treebank_words(sentence) + ([END] if self._use_eos else [])

    def _encoded(self, sentences: list[Sequence[str]]) -> Tensor:
        import torch  # noqa: PLC0415  # an extra, and heavy

        parts = [model.last_states(sentences, self._device) for model in self._models]
        return torch.cat([unit_length(p) if self._normalize else p for p in parts], dim=1)


def _model(
    folder: Path, name: str, device: str, arrays: Arrays, settings: dict[str, object]
) -> GatedEncoder:
    """One model of a folder; what the fingerprint depends on is added to arrays and settings."""
    weights_file, table_file = folder / WEIGHT_FILES[name], folder / TABLE_FILES[name]
    weights = read_arrays(weights_file, weight_names(name))
    units = tuple(
        gated_unit(str(weights_file), _of_unit(weights, prefix), resets_state=False, device=device)
        for prefix in PREFIXES[name]
    )
    advice = f"convert the folder with {_CONVERTER}"
    table = open_table(folder / DICTIONARY, table_file, advice)
    for unit in units:
        check_word_size(str(table_file), table.dimension, str(weights_file), unit.word_size)
    if settings["eos"]:
        table.vector(END)  # or a sentence that it is not there
    arrays.update({f"{name} {key}": array for key, array in weights.items()})
    arrays[f"{name} table"] = table.vectors
    settings["words"] = list(table.row_of)
    return GatedEncoder(table, table.vector(UNKNOWN), units)


def _of_unit(weights: Arrays, prefix: str) -> Arrays:
    return {ours: weights[f"{prefix}_{theirs}"] for ours, theirs in _WEIGHTS.items()}
