"""Registry of encoders: a lazy table, and encoders from their specification.

The specification of an encoder is `KIND:PATH,SETTING=VALUE,...`, such as
`transformer:models/mpnet,pooling=cls`. Without a kind, a folder and a name on the Hugging Face hub
are a transformer, such as `bert-base-uncased`, and files are word vectors or precomputed vectors.
All commands and functions that take an encoder take it in these words.

The table maps a kind to "module:Class", so that loading one imports no other; a new encoder is one
new file and one line here. Each class has `load(path, **settings)`, whose keyword parameters are
the settings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from adequa.encoders.base import Concatenation, Encoder, PairEncoder
from adequa.encoders.transformer_files import is_hub_name
from adequa.errors import AdequaError, nearest
from adequa.io.text import BOOLEANS


@dataclass(frozen=True, slots=True)
class EncoderEntry:
    """One line of the table: the class of an encoder, and a summary for the user."""

    target: str
    summary: str


ENCODERS: dict[str, EncoderEntry] = {
    "transformer": EncoderEntry(
        "adequa.encoders.transformer:Transformer",
        "any Hugging Face encoder, one sentence at a time: a folder, or a name on the hub",
    ),
    "transformer-pair": EncoderEntry(
        "adequa.encoders.transformer:TransformerPair",
        "any Hugging Face encoder, hypothesis and reference read together",
    ),
    "matching": EncoderEntry(
        "adequa.encoders.matching:TokenMatching",
        "how well the words of hypothesis and reference match in a Hugging Face encoder",
    ),
    "words": EncoderEntry(
        "adequa.encoders.word_vectors:BagOfWords",
        "the mean of word vectors: a GloVe or word2vec file, text or binary",
    ),
    "word-matching": EncoderEntry(
        "adequa.encoders.matching:WordMatching",
        "how well the words of hypothesis and reference match by GloVe or word2vec vectors",
    ),
    "syntax": EncoderEntry(
        "adequa.encoders.syntax:Syntax",
        "the shape of dependency trees, or words composed over them: spacy:MODEL or conllu:FILE",
    ),
    "infersent": EncoderEntry(
        "adequa.encoders.published:InferSent", "BiLSTM with max pooling, versions 1 and 2"
    ),
    "skip-thought": EncoderEntry(
        "adequa.encoders.published:SkipThought", "GRU encoders: uni-, bi- and combine-skip"
    ),
    "quick-thought": EncoderEntry(
        "adequa.encoders.published:QuickThought", "two GRU encoders, concatenated"
    ),
    "precomputed": EncoderEntry(
        "adequa.encoders.precomputed:Precomputed", "vectors of any origin: an .npz or Parquet file"
    ),
}


_VECTOR_FILES = {".npz", ".parquet"}  # suffixes of files of precomputed vectors
_FILES = {*_VECTOR_FILES, ".txt", ".vec", ".bin", ".gz", ".pkl", ".conllu"}  # no names on the hub


def encoder_class(kind: str) -> Any:
    """Import and return the class of a kind of encoder."""
    entry = ENCODERS.get(kind)
    if entry is None:
        raise AdequaError(
            f'There is no kind of encoder named "{kind}".{nearest(kind, ENCODERS)} Write'
            f" KIND:PATH; the kinds are {', '.join(ENCODERS)}."
        )
    module, _, attribute = entry.target.partition(":")
    return getattr(import_module(module), attribute)


def settings_of(encoder: Any) -> dict[str, object]:
    """Return the settings of an encoder class with their defaults."""
    return {
        name: None if parameter.default is parameter.empty else parameter.default
        for name, parameter in signature(encoder.load).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def allowed_values(setting: str, default: object) -> str:
    """The values that a setting of an encoder may have, for readers.

    >>> allowed_values("normalize", "auto"), allowed_values("download", default=False)
    ('auto, true or false', 'true or false')
    """
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, int):
        return "a whole number"
    if setting == "pooling":
        from adequa.encoders.transformer import POOLINGS  # noqa: PLC0415 - imports PyTorch

        return ", ".join(POOLINGS)
    if setting == "tokenize":
        from adequa.encoders.word_vectors import WORD_TOKENIZERS  # noqa: PLC0415

        return ", ".join(WORD_TOKENIZERS)
    return _VALUES.get(setting, "text")


_VALUES = {
    "features": "shape, composed",
    "device": "cpu, cuda or another device of PyTorch",
    "layers": "numbers joined by +, such as 4+8+12",
    "lowercase": "auto, true or false",
    "mode": "uni, bi, combine",
    "normalize": "auto, true or false",
    "pool": "max, mean",
    "words": "a file of word vectors",
}


def load_encoder(
    specification: str | os.PathLike[str] | Encoder | PairEncoder, *, download: bool = False
) -> Encoder | PairEncoder:
    """Load an encoder: KIND:PATH,SETTING=VALUE, a folder, a file, or a name on the hub.

    Nothing is downloaded from the hub without `download`. An encoder is returned as it is.
    """
    if isinstance(specification, Encoder | PairEncoder):
        return specification
    defaults = {"download": "true"} if download else {}
    loaded: Encoder | PairEncoder = load_from(specification, encoder_class, defaults)
    return loaded


def load_from(
    specification: str | os.PathLike[str],
    class_of: Callable[[str], Any],
    defaults: Mapping[str, str] | None = None,
) -> Any:
    """Load what a specification names, with the class that `class_of` returns for its kind.

    `defaults` are settings that apply unless the specification has them, where the class has them.
    """
    if not isinstance(specification, str | os.PathLike):
        raise AdequaError(f"Name an encoder or vectors as KIND:PATH, not as {specification!r}.")
    kind, path, settings = _parse(os.fspath(specification))
    loaded_class = class_of(kind)
    available = settings_of(loaded_class)
    settings = {k: v for k, v in (defaults or {}).items() if k in available} | settings
    return loaded_class.load(path, **_parse_settings(kind, available, settings))


def load_encoders(
    specifications: Sequence[str], *, download: bool = False
) -> Encoder | PairEncoder:
    """Load one encoder, or several sentence encoders whose vectors are concatenated."""
    encoders = [load_encoder(each, download=download) for each in specifications]
    if not encoders:
        raise AdequaError(f"Name an encoder as KIND:PATH; the kinds are {', '.join(ENCODERS)}.")
    if len(encoders) == 1:
        return encoders[0]
    for encoder in encoders:
        if not isinstance(encoder, Encoder):
            raise AdequaError(
                f"{encoder.name} reads two sentences together and cannot be joined with others."
            )
    return Concatenation(tuple(each for each in encoders if isinstance(each, Encoder)))


def with_absolute_paths(specification: str) -> str:
    """Return a specification with its kind.

    >>> with_absolute_paths("bert-base-uncased")
    'transformer:bert-base-uncased'
    """
    return format_specification(*_parse(specification))


def transformer_name(specification: str) -> str:
    """Return the folder or name of a transformer that is to be fine-tuned, without its kind.

    >>> transformer_name("transformer:bert-base-uncased"), transformer_name("models/mpnet")
    ('bert-base-uncased', 'models/mpnet')
    """
    if specification.partition(":")[0] not in ENCODERS:
        return specification
    kind, path, settings = _parse(specification)
    if kind != "transformer" or settings:
        raise AdequaError(
            f"{specification} cannot be fine-tuned; name a transformer without settings: a folder, "
            "or a name on the hub."
        )
    return path


def with_path(specification: str, path: str) -> str:
    """Return the specification with another path; a path that is a specification replaces it.

    >>> with_path("transformer:models/mpnet,pooling=cls", "elsewhere/mpnet")
    'transformer:elsewhere/mpnet,pooling=cls'
    >>> with_path("transformer:models/mpnet,pooling=cls", "precomputed:vectors.npz")
    'precomputed:vectors.npz'
    """
    if path.partition(":")[0] in ENCODERS or Path(path).suffix in _VECTOR_FILES:
        return path
    kind, _, settings = _parse(specification)
    return format_specification(kind, path, settings)


def settings_in(specification: str) -> dict[str, str]:
    """Return the settings in a specification.

    >>> settings_in("infersent:i1.pkl,words=a.txt")
    {'words': 'a.txt'}
    """
    return _parse(specification)[2]


def with_setting(specification: str, name: str, value: str) -> str:
    """Return the specification with another value of a setting, where it has that setting.

    >>> with_setting("infersent:i1.pkl,words=a.txt", "words", "b.txt")
    'infersent:i1.pkl,words=b.txt'
    >>> with_setting("transformer:mpnet", "words", "b.txt")
    'transformer:mpnet'
    """
    kind, path, settings = _parse(specification)
    return format_specification(
        kind, path, settings | {name: value} if name in settings else settings
    )


def format_specification(kind: str, path: str, settings: Mapping[str, str]) -> str:
    """Return the specification of a kind, a path and settings."""
    return ",".join([f"{kind}:{path}", *(f"{key}={value}" for key, value in settings.items())])


def _parse(specification: str) -> tuple[str, str, dict[str, str]]:
    """Return kind, path and settings; the kind of a bare folder, file or name is guessed."""
    kind, colon, rest = specification.partition(":")
    if not colon or "," in kind:
        kind, rest = _guess_kind(specification), specification
    # A path may hold commas: settings begin at the first part of the form NAME=VALUE.
    parts = rest.split(",")
    start = next((i for i, part in enumerate(parts) if i and "=" in part), len(parts))
    settings: dict[str, str] = {}
    for assignment in parts[start:]:
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not equals or key in settings:
            problem = "is given more than once" if equals else "is not a setting"
            raise AdequaError(
                f'"{key}" in "{specification}" {problem}; write KIND:PATH,NAME=VALUE,NAME=VALUE.'
            )
        settings[key] = value
    path = ",".join(parts[:start])
    if not path.strip():
        raise AdequaError(
            f'"{specification}" names no file or folder; write {kind}:PATH,NAME=VALUE.'
        )
    return kind, path, settings


def _guess_kind(specification: str) -> str:
    path = specification.partition(",")[0]
    if Path(path).is_dir():
        return "transformer"
    if Path(path).suffix in _VECTOR_FILES:
        return "precomputed"
    if Path(path).is_file():
        return "words"
    if path in ENCODERS:
        raise AdequaError(f"{path} is a kind of encoder; write {path}:PATH.")
    if is_hub_name(path) and Path(path).suffix not in _FILES:
        return "transformer"
    raise AdequaError(
        f"There is no file or folder {path}, and no encoder without one; write KIND:PATH, with one"
        f" of the kinds {', '.join(ENCODERS)}."
    )


def _parse_settings(
    kind: str, available: Mapping[str, object], settings: Mapping[str, str]
) -> dict[str, object]:
    """Convert settings to the types of their defaults."""
    values: dict[str, object] = {}
    for key, text in settings.items():
        if key not in available:
            raise AdequaError(
                f'{kind} has no setting named "{key}".{nearest(key, available)} Its settings:'
                f" {', '.join(available) or 'none'}."
            )
        values[key] = _parse_value(kind, key, text, available[key])
    return values


def _parse_value(kind: str, key: str, text: str, default: object) -> object:
    """Convert a setting to the type of its default."""
    try:
        if isinstance(default, bool):
            return BOOLEANS[text.lower()]
        return int(text) if isinstance(default, int) else text
    except (KeyError, ValueError):
        expected = "true or false" if isinstance(default, bool) else "a whole number"
        raise AdequaError(f"{kind}: {key} must be {expected}, not {text!r}.") from None
