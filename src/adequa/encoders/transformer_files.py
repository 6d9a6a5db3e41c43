"""Transformers on disk: where a model is, whether it is whole, and a digest of what it is.

Nothing goes over the network unless the user asks for a download, and no code that comes with a
model is ever run.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adequa.errors import AdequaError
from adequa.io.atomic import digest_of

MODELS = "ADEQUA_MODELS"  # the environment variable that names a folder of models
# Under which a model may lie there too, by its published name.
SHORT_NAMES = {"all-mpnet-base-v2": "mpnet", "all-MiniLM-L6-v2": "minilm"}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_TEXT_FILES = ("*.json", "*.txt", "*.model", "*.spm")
_SAFE, _PICKLED = "model*.safetensors", "pytorch_model*.bin"
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


def model_folder(
    path: str, *, download: bool, revision: str, asking: str = "download=true"
) -> Path:
    """The folder of a model: the path itself, or the copy of a model on the hub.

    A name also means the folder of that name, or of its short name, in the folder of models,
    ADEQUA_MODELS. `asking` is how a user asks for a download there where the path was given.
    """
    named = os.environ.get(MODELS)
    there = [] if not named else [Path(named, name) for name in (path, SHORT_NAMES.get(path, path))]
    for place in (Path(path), *there):
        if place.is_dir():
            return place.resolve()
    if Path(path).exists():
        raise AdequaError(f"{path} is a file; a transformer is a folder or a name on the hub.")
    if not _HUB_NAME.fullmatch(path):
        raise AdequaError(f"There is no folder {path}.")
    with _needed_packages():
        from huggingface_hub import snapshot_download  # noqa: PLC0415  # an extra, and heavy
    try:
        for weights in (_SAFE, _PICKLED):
            folder = Path(
                snapshot_download(
                    path,
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
                f"check the path, name the folder that holds it in {MODELS}, or add {asking} to "
                "get the model from the hub."
            ) from error
        raise AdequaError(f"{path} cannot be had from the hub: {_reason(error)}.") from error
    return folder


def model_files(folder: Path) -> list[Path]:
    """All files that the vectors depend on; a sentence says what a folder lacks."""
    if not (folder / "config.json").is_file():
        raise AdequaError(f"{folder} lacks config.json, so it is no Hugging Face model.")
    weights = _matching(folder, _SAFE, "model*.safetensors.index.json")
    if not any(path.suffix == ".safetensors" for path in weights):
        weights = _matching(folder, _PICKLED, "pytorch_model*.bin.index.json")
    if not weights:
        raise AdequaError(f"{folder} lacks the weights; they should be in model.safetensors.")
    tokenizer = _matching(folder, *_TOKENIZERS)
    if not tokenizer:
        raise AdequaError(f"{folder} lacks the tokenizer, such as tokenizer.json or vocab.txt.")
    return [folder / "config.json", *weights, *tokenizer, *_matching(folder, *_TOKENIZER_SETTINGS)]


def _matching(folder: Path, *patterns: str) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def digests(files: list[Path]) -> dict[str, str]:
    """The digest of each file, by its name without the folder."""
    return {path.name: digest_of(path) for path in files}


def load_model(folder: Path) -> tuple[Any, Any]:
    """The network, in 32 bits and ready to encode, and its tokenizer."""
    network, tokenizer = _loaded(folder, "AutoModel")
    if getattr(network.config, "is_encoder_decoder", False):
        raise AdequaError(
            f"{folder} is a model with encoder and decoder; only encoders can be used."
        )
    return network, tokenizer


def load_tokenizer(folder: Path, **settings: bool) -> Any:
    """The tokenizer of a model, with settings in place of its own."""
    with _needed_packages():
        import torch  # noqa: PLC0415, F401  # transformers would only complain later
        import transformers  # noqa: PLC0415  # an extra, and heavy
    with _loading(folder):
        return transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, **settings
        )


def load_translation_model(folder: Path) -> tuple[Any, Any]:
    """The network, in 32 bits and ready to translate, and its tokenizer."""
    return _loaded(folder, "AutoModelForSeq2SeqLM")


def _loaded(folder: Path, kind: str) -> tuple[Any, Any]:
    files = model_files(folder)
    tokenizer = load_tokenizer(folder)
    with _needed_packages():
        import transformers  # noqa: PLC0415  # an extra, and heavy
    with _loading(folder):
        network, report = getattr(transformers, kind).from_pretrained(
            folder,
            use_safetensors=any(path.suffix == ".safetensors" for path in files),
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    _check_loaded(folder, report)
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


def _check_loaded(folder: Path, report: dict[str, Any]) -> None:
    """Weights that are not in the files would be random, and the vectors with them."""
    lacking = sorted(key for key in report["missing_keys"] if not _UNUSED.search(key))
    if lacking:
        raise AdequaError(
            f"The weights in {folder} do not fit its config.json: {lacking[0]} is not there, and "
            f"{len(lacking) - 1} more."
        )


@contextmanager
def _needed_packages() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise AdequaError(
            "Transformers need PyTorch and transformers; install them with: "
            "pip install 'adequa[train]'"
        ) from error


@contextmanager
def writing_weights(where: object) -> Iterator[None]:
    """A sentence where a file of weights cannot be written, on a full disk for one."""
    from safetensors import SafetensorError  # noqa: PLC0415  # an extra, and heavy

    try:
        yield
    except SafetensorError as error:
        raise AdequaError(f"{where} cannot be written: {_reason(error)}.") from error


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings, log lines or progress bars while a model is loaded."""
    from transformers.utils import logging  # noqa: PLC0415  # it is there by now

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


_POOLINGS = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
    "max": "max",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean-sqrt-length",
}
_PREFIX = "pooling_mode_"


@dataclass(frozen=True, slots=True)
class Declared:
    """The transformer's own folder, and what is said on how to use it."""

    folder: Path
    pooling: str = ""
    normalize: bool = False
    max_length: int = 0  # 0: the model's own limit
    lowercase: bool = False
    prompt: str = ""


def declared(folder: Path, *, pooled: bool) -> Declared:
    """What a folder declares; nothing for one that is not of sentence-transformers.

    Unless its own pooling is wanted, only its transformer counts, whatever the other steps are.
    """
    modules = read_json(folder / "modules.json")
    if modules is None:
        return Declared(folder)
    if not isinstance(modules, list) or not all(isinstance(each, dict) for each in modules):
        raise AdequaError(f"{folder / 'modules.json'} should hold a list of modules.")
    kinds = [str(each.get("type", "")).rpartition(".")[2] for each in modules]
    places = [folder / str(each.get("path", "")) for each in modules]
    if not pooled and kinds[:1] == ["Transformer"]:
        return _with_limits(Declared(places[0]))
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise AdequaError(
            f"{folder} is made of {', '.join(kinds) or 'nothing'}; only a Transformer, a Pooling "
            "and perhaps a Normalize after them are supported."
        )
    found = Declared(
        places[0], pooling=_declared_pooling(places[1]), normalize=kinds[-1] == "Normalize"
    )
    return replace(_with_limits(found), prompt=_default_prompt(folder, places[1]))


def read_json(path: Path) -> Any:
    """The content of a JSON file; None where there is no such file."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise AdequaError(f"{path} cannot be read as JSON: {error}.") from error


def _settings(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if found is not None and not isinstance(found, dict):
        raise AdequaError(f"{path} should hold settings by name.")
    return found or {}


def _declared_pooling(place: Path) -> str:
    settings = _settings(place / "config.json")
    chosen = settings.get("pooling_mode")
    names = [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(names, list):
        names = [
            key.removeprefix(_PREFIX)
            for key, value in settings.items()
            if key.startswith(_PREFIX) and value is True
        ]
    if len(names) != 1 or str(names[0]) not in _POOLINGS:
        raise AdequaError(
            f"{place / 'config.json'} asks for the pooling {' and '.join(map(str, names)) or '?'}, "
            "which is not supported; name another with pooling=mean or pooling=cls."
        )
    return _POOLINGS[str(names[0])]


def _with_limits(found: Declared) -> Declared:
    """What the settings of the transformer say; the name of their file has changed over time."""
    for path in sorted(found.folder.glob("sentence_*_config.json")):
        settings = _settings(path)
        length = settings.get("max_seq_length")
        return replace(
            found,
            max_length=length if isinstance(length, int) else 0,
            lowercase=settings.get("do_lower_case") is True,
        )
    return found


def _default_prompt(folder: Path, pooling: Path) -> str:
    """The words that the folder puts in front of every sentence, if any."""
    settings = _settings(folder / "config_sentence_transformers.json")
    name, prompts = settings.get("default_prompt_name"), settings.get("prompts")
    if name is None or not isinstance(prompts, dict):
        return ""
    prompt = prompts.get(name)
    if prompt and _settings(pooling / "config.json").get("include_prompt") is False:
        raise AdequaError(
            f"{folder} has a prompt that its pooling leaves out, which is not supported; name a "
            "pooling of your own, such as pooling=mean."
        )
    return prompt if isinstance(prompt, str) else ""
