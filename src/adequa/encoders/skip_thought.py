"""Skip-Thought (Kiros et al. 2015): the last states of GRUs that were trained on books.

Uni-skip is one GRU (2400 numbers), bi-skip one that reads forwards and one that reads backwards
(2 × 1200), combine-skip both models side by side (4800). The paper (§2.1) and the code that the
published weights were trained with differ in two equations. The weights fit the code, which is
followed here. With the word x, the state h before and the candidate h̄:

    r = σ(W_r x + U_r h + b_r)
    z = σ(W_z x + U_z h + b_z)
    h̄ = tanh(W x + r ⊙ (U h) + b)    where the paper has U (r ⊙ h)
    h' = z ⊙ h + (1 - z) ⊙ h̄         where the paper has (1 - z) ⊙ h + z ⊙ h̄

The folder holds `dictionary.txt`, for uni-skip `uni_skip.npz` and `utable.npy`, and for bi-skip
`bi_skip.npz` and `btable.npy`. In the .npz files `encoder_W`, `encoder_U` and `encoder_b` hold the
reset gate and then the update gate, side by side; `encoder_Wx`, `encoder_Ux` and `encoder_bx`
belong to the candidate; `encoder_r_*` reads backwards.

The authors' files were not available when this was written: the equations are tested with small
weights in the same layout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adequa.encoders.recurrent import (
    Arrays,
    Embedding,
    GRUNetwork,
    RecurrentEncoder,
    content_digest,
    read_arrays,
    select_device,
)
from adequa.encoders.registry import format_specification
from adequa.encoders.tokens import treebank_words
from adequa.encoders.word_vector_files import open_table
from adequa.errors import AdequaError

MODES: Final = {"uni": ("uni",), "bi": ("bi",), "combine": ("uni", "bi")}
WEIGHT_FILES: Final = {"uni": "uni_skip.npz", "bi": "bi_skip.npz"}
TABLE_FILES: Final = {"uni": "utable.npy", "bi": "btable.npy"}
DICTIONARY: Final = "dictionary.txt"
UNKNOWN: Final = "UNK"
END: Final = "<eos>"
_PREFIXES: Final = {"uni": ("encoder",), "bi": ("encoder", "encoder_r")}
# The authors' names of the weights, by the fields of `GRU`.
_WEIGHTS: Final = {
    "word_gates": "W",
    "state_gates": "U",
    "gate_bias": "b",
    "word_candidate": "Wx",
    "state_candidate": "Ux",
    "candidate_bias": "bx",
}
_CONVERTER: Final = "python -m adequa.encoders.converters.skip_thought FOLDER NEW_FOLDER"


class SkipThought(RecurrentEncoder):
    """Uni-skip, bi-skip and combine-skip, from a folder in the authors' layout."""

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
                f"{' and '.join(WEIGHT_FILES[model] for model in MODES[mode])}, and "
                f"{' and '.join(TABLE_FILES[model] for model in MODES[mode])}."
            )
        device = select_device("skip-thought", device)
        # What the fingerprint depends on.
        settings: dict[str, object] = {
            "kind": "skip-thought",
            "mode": mode,
            "normalize": normalize,
            "eos": use_eos,
        }
        arrays: Arrays = {}
        networks = [_load_model(folder, each, device, arrays, settings) for each in MODES[mode]]
        options = {"mode": mode}
        options |= {} if normalize else {"normalize": "false"}
        options |= {"use_eos": "true"} if use_eos else {}
        return cls(
            networks,
            path=folder,
            name=f"{mode}-skip",
            specification=format_specification("skip-thought", str(folder), options),
            fingerprint=content_digest(settings, arrays),
            words=treebank_words,
            inputs=_words_and_end if use_eos else treebank_words,
            normalize=normalize,
            device=device,
        )


def _words_and_end(sentence: str) -> list[str]:
    return [*treebank_words(sentence), END]


def weight_names(model: str) -> tuple[str, ...]:
    """Return the names of the arrays of uni-skip or bi-skip.

    >>> weight_names("bi")[5:8]
    ('encoder_bx', 'encoder_r_W', 'encoder_r_U')
    """
    return tuple(f"{prefix}_{name}" for prefix in _PREFIXES[model] for name in _WEIGHTS.values())


def _load_model(
    folder: Path, model: str, device: str, arrays: Arrays, settings: dict[str, object]
) -> GRUNetwork:
    """Load uni-skip or bi-skip; add what the fingerprint depends on to arrays and settings."""
    weights_file, table_file = folder / WEIGHT_FILES[model], folder / TABLE_FILES[model]
    weights = read_arrays(weights_file, weight_names(model))
    units = [
        {ours: weights[f"{prefix}_{theirs}"] for ours, theirs in _WEIGHTS.items()}
        for prefix in _PREFIXES[model]
    ]
    table = open_table(folder / DICTIONARY, table_file, f"convert the folder with {_CONVERTER}")
    if settings["eos"]:
        table.vector(END)  # raises where the dictionary lacks it
    arrays.update({f"{model} {name}": array for name, array in weights.items()})
    arrays[f"{model} table"] = table.vectors
    settings["words"] = list(table.row_of)
    return GRUNetwork.load(
        str(weights_file),
        units,
        str(table_file),
        Embedding(table, table.vector(UNKNOWN)),
        resets_state=False,
        device=device,
    )
