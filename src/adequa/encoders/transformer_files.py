"""Transformers on disk: find, check and load a model, read what its folder declares, tokenize.

Nothing goes over the network unless the user asks for a download, and no code that comes with a
model is ever run.

A tokenizer turns texts into ids (`Reader`), which are in one flat array and padded a batch at a
time (`TokenRows`).
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.segments import check_characters

MODELS = "ADEQUA_MODELS"  # the environment variable that names a folder of models
# Short folder names there, by the published name of a model.
SHORT_NAMES = {"all-mpnet-base-v2": "mpnet", "all-MiniLM-L6-v2": "minilm"}
_PUBLISHER = "sentence-transformers"  # of these models on the hub
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_TEXT_FILES = ("*.json", "*.txt", "*.model", "*.spm")
_SAFETENSORS, _PICKLED = "model*.safetensors", "pytorch_model*.bin"
_TOKENIZERS = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
    "*.spm",
    "*.bpe.*",
)
_TOKENIZER_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_UNUSED = re.compile(r"pooler\.|position_ids|^cls\.|^lm_head\.|^classifier\.")


def model_folder(path: str, *, download: bool = False, revision: str = "") -> Path:
    """Return the folder of a model: the path, or the local copy of a model on the hub.

    A name is also looked for, as it is and as its short name, in the folder ADEQUA_MODELS. Without
    `download`, only models that were downloaded before are found.
    """
    models = os.environ.get(MODELS)
    published = path.removeprefix(f"{_PUBLISHER}/")
    names = (path, SHORT_NAMES.get(published, path)) if models else ()
    for folder in (Path(path), *(Path(models or "", name) for name in names)):
        if folder.is_dir():
            return folder.resolve()
    if Path(path).exists():
        raise AdequaError(f"{path} is a file; a transformer is a folder or a name on the hub.")
    if not is_hub_name(path):
        raise AdequaError(f"There is no folder {path}.")
    hub_name = f"{_PUBLISHER}/{path}" if path in SHORT_NAMES else path
    with required_packages():
        from huggingface_hub import snapshot_download  # noqa: PLC0415  # an extra, and heavy
    try:
        for weights in (_SAFETENSORS, _PICKLED):
            folder = Path(
                snapshot_download(
                    hub_name,
                    revision=revision or None,
                    local_files_only=not download,
                    allow_patterns=[*_TEXT_FILES, weights],
                    ignore_patterns=["onnx/*", "openvino/*"],
                )
            )
            if any(folder.rglob(weights)):
                return folder
    except Exception as error:  # whatever the network library raises
        if not download:
            raise AdequaError(
                f"There is no folder {path}, and no model of that name was downloaded before; "
                f"check the path, name the folder that holds it in {MODELS}, or add --download (in "
                "Python download=True, in a specification download=true) to get it from the hub."
            ) from error
        raise AdequaError(f"{path} cannot be had from the hub: {_reason(error)}.") from error
    return folder


def is_hub_name(name: str) -> bool:
    """Tell whether a model on the hub may have this name.

    >>> is_hub_name("bert-base-uncased"), is_hub_name("models/all/mpnet")
    (True, False)
    """
    return _HUB_NAME.fullmatch(name) is not None


def model_files(folder: Path) -> list[Path]:
    """Return all files that the vectors depend on; raise where one is missing."""
    if not (folder / "config.json").is_file():
        raise AdequaError(f"{folder} lacks config.json, so it is no Hugging Face model.")
    weights = _glob(folder, _SAFETENSORS, "model*.safetensors.index.json")
    if not any(path.suffix == ".safetensors" for path in weights):
        weights = _glob(folder, _PICKLED, "pytorch_model*.bin.index.json")
    if not weights:
        raise AdequaError(f"{folder} lacks the weights; they should be in model.safetensors.")
    tokenizer = _glob(folder, *_TOKENIZERS)
    if not tokenizer:
        raise AdequaError(f"{folder} lacks the tokenizer, such as tokenizer.json or vocab.txt.")
    return [folder / "config.json", *weights, *tokenizer, *_glob(folder, *_TOKENIZER_SETTINGS)]


def _glob(folder: Path, *patterns: str) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def digests(files: list[Path]) -> dict[str, str]:
    """Return the digest of each file, by its name without the folder."""
    return {path.name: digest_of(path) for path in files}


def load_model(folder: Path) -> tuple[Any, Any]:
    """Load an encoder, in 32 bits and in evaluation mode, and its tokenizer."""
    network, tokenizer = _load(folder, "AutoModel")
    if getattr(network.config, "is_encoder_decoder", False):
        raise AdequaError(
            f"{folder} is a model with encoder and decoder; only encoders can be used."
        )
    return network, tokenizer


def load_tokenizer(folder: Path, **settings: bool) -> Any:
    """Load the tokenizer of a model; settings replace its own."""
    with required_packages():
        import torch  # noqa: PLC0415, F401  # transformers would only complain later
        import transformers  # noqa: PLC0415  # an extra, and heavy
    with _loading(folder):
        return transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, **settings
        )


def load_translation_model(folder: Path) -> tuple[Any, Any]:
    """Load a translation model, in 32 bits and in evaluation mode, and its tokenizer."""
    return _load(folder, "AutoModelForSeq2SeqLM")


def _load(folder: Path, auto_class: str) -> tuple[Any, Any]:
    files = model_files(folder)
    tokenizer = load_tokenizer(folder)
    with required_packages():
        import transformers  # noqa: PLC0415  # an extra, and heavy
    with _loading(folder):
        network, report = getattr(transformers, auto_class).from_pretrained(
            folder,
            use_safetensors=any(path.suffix == ".safetensors" for path in files),
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    _check_weights(folder, report)
    return network.float().eval(), tokenizer


@contextmanager
def _loading(folder: Path) -> Iterator[None]:
    try:
        with quiet():
            yield
    except Exception as error:  # the tokenizers package raises nothing more exact
        raise AdequaError(
            f"{folder} cannot be loaded as a transformer: {_reason(error)}."
        ) from error


def _reason(error: Exception) -> str:
    if "weights_only" in str(error):  # PyTorch would advise to run the code
        return "pytorch_model.bin holds more than weights, and no code of a model is run"
    return (str(error).strip().partition("\n")[0] or type(error).__name__).rstrip(".:")


def _check_weights(folder: Path, report: dict[str, Any]) -> None:
    """Raise where weights are missing from the files: they would be random."""
    missing = sorted(key for key in report["missing_keys"] if not _UNUSED.search(key))
    if missing:
        raise AdequaError(
            f"The weights in {folder} do not fit its config.json: {missing[0]} is not there, and "
            f"{len(missing) - 1} more."
        )


@contextmanager
def required_packages(what: object = "A transformer") -> Iterator[None]:
    """Turn a missing package into a sentence; `what` needs it."""
    try:
        yield
    except ImportError as error:
        raise AdequaError(
            f"{what} needs PyTorch and transformers; install them with: pip install 'adequa[train]'"
        ) from error


@contextmanager
def writing_weights(where: object) -> Iterator[None]:
    """Raise AdequaError where a file of weights cannot be written, such as on a full disk."""
    from safetensors import SafetensorError  # noqa: PLC0415  # an extra, and heavy

    try:
        yield
    except SafetensorError as error:
        raise AdequaError(f"{where} cannot be written: {_reason(error)}.") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings, log lines and progress bars while a model is loaded."""
    from transformers.utils import logging  # noqa: PLC0415  # imported by then

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


# What a sentence-transformers folder declares.

_POOLINGS = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
    "max": "max",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean-sqrt-length",
}
_MODE_PREFIX = "pooling_mode_"


@dataclass(frozen=True, slots=True)
class Declared:
    """The folder of the transformer, and the settings that are declared for it."""

    folder: Path
    pooling: str = ""
    normalize: bool = False
    max_length: int = 0  # 0: the limit of the model
    lowercase: bool = False
    prompt: str = ""


def declared(folder: Path, *, pooled: bool) -> Declared:
    """Read the settings that a sentence-transformers folder declares; others declare none.

    Such a folder lists its modules in `modules.json`: the transformer, a pooling, and perhaps a
    normalisation. Other modules, such as a dense layer, are refused, unless `pooled` is false: then
    only the transformer counts.
    """
    modules = read_json(folder / "modules.json")
    if modules is None:
        return Declared(folder)
    kinds = [str(each.get("type", "")).rpartition(".")[2] for each in modules]
    paths = [folder / str(each.get("path", "")) for each in modules]
    if not pooled and kinds[:1] == ["Transformer"]:
        return _with_limits(Declared(paths[0]))
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise AdequaError(
            f"{folder} is made of {', '.join(kinds) or 'nothing'}; only a Transformer, a Pooling "
            "and perhaps a Normalize after them are supported."
        )
    settings = Declared(
        paths[0], pooling=_declared_pooling(paths[1]), normalize=kinds[-1] == "Normalize"
    )
    return replace(_with_limits(settings), prompt=_default_prompt(folder, paths[1]))


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; None where there is no such file."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise AdequaError(f"{path} cannot be read as JSON: {error}.") from error


def _declared_pooling(folder: Path) -> str:
    settings = read_json(folder / "config.json") or {}
    modes = settings.get("pooling_mode")
    names = [modes] if isinstance(modes, str) else modes
    if not isinstance(names, list):
        names = [
            key.removeprefix(_MODE_PREFIX)
            for key, value in settings.items()
            if key.startswith(_MODE_PREFIX) and value is True
        ]
    if len(names) != 1 or str(names[0]) not in _POOLINGS:
        raise AdequaError(
            f"{folder / 'config.json'} asks for the pooling "
            f"{' and '.join(map(str, names)) or '?'}, which is not supported; name another with "
            "pooling=mean or pooling=cls."
        )
    return _POOLINGS[str(names[0])]


def _with_limits(settings: Declared) -> Declared:
    """Add the declared length and case; the name of their file has changed over time."""
    for path in sorted(settings.folder.glob("sentence_*_config.json")):
        limits = read_json(path)
        length = limits.get("max_seq_length")
        return replace(
            settings,
            max_length=length if isinstance(length, int) else 0,
            lowercase=limits.get("do_lower_case") is True,
        )
    return settings


def _default_prompt(folder: Path, pooling: Path) -> str:
    """Return the text that the folder puts in front of every sentence, if any."""
    settings = read_json(folder / "config_sentence_transformers.json") or {}
    name, prompts = settings.get("default_prompt_name"), settings.get("prompts")
    if name is None or not isinstance(prompts, dict):
        return ""
    prompt = prompts.get(name)
    if prompt and read_json(pooling / "config.json").get("include_prompt") is False:
        raise AdequaError(
            f"{folder} has a prompt that its pooling leaves out, which is not supported; name a "
            "pooling of your own, such as pooling=mean."
        )
    return prompt if isinstance(prompt, str) else ""


# Token ids of texts.

TOKENIZED_AT_ONCE = 8192  # texts tokenized at a time, which bounds the memory of their lists

RowIndices = npt.NDArray[np.integer]


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

    def padded(self, rows: RowIndices) -> dict[str, npt.NDArray[np.int64]]:
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
        for start in range(0, len(texts), TOKENIZED_AT_ONCE):
            encoded = self._tokenize(
                texts[start : start + TOKENIZED_AT_ONCE],
                truncation=True,
                max_length=self.max_length,
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
