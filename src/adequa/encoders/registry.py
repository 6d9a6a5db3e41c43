"""Encoders by name: a lazy table, and encoders from command-line words.

An encoder is written `KIND:PATH,SETTING=VALUE,...`, such as `transformer:models/mpnet,pooling=cls`.
The table maps a kind to "module:Class", so that naming one imports no other; a new encoder is one
new file and one line here. Each class has `load(path, **settings)`, whose keyword parameters are
the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from adequa.encoders.base import Encoder, PairEncoder
from adequa.errors import AdequaError, nearest
from adequa.io.truth import TRUTH


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table: where an encoder lives and what to tell a user of it."""

    target: str
    summary: str


ENCODERS: dict[str, Entry] = {
    "transformer": Entry(
        "adequa.encoders.transformer:Transformer",
        "any Hugging Face encoder, one sentence at a time: a folder, or a name on the hub",
    ),
    "transformer-pair": Entry(
        "adequa.encoders.transformer:TransformerPair",
        "the same, hypothesis and reference read together",
    ),
    "matching": Entry(
        "adequa.encoders.matching:TokenMatching",
        "how well the words of hypothesis and reference match in a Hugging Face encoder",
    ),
    "words": Entry(
        "adequa.encoders.word_vectors:BagOfWords",
        "the mean of word vectors: a GloVe or word2vec file, text or binary",
    ),
    "word-matching": Entry(
        "adequa.encoders.matching:WordMatching",
        "how well the words of hypothesis and reference match by their vectors in such a file",
    ),
    "syntax": Entry(
        "adequa.encoders.syntax:Syntax",
        "the shape of dependency trees, or words composed over them: spacy:MODEL or conllu:FILE",
    ),
    "infersent": Entry(
        "adequa.encoders.infersent:InferSent", "BiLSTM with max pooling, versions 1 and 2"
    ),
    "skip-thought": Entry(
        "adequa.encoders.skip_thought:SkipThought", "GRU encoders: uni-, bi- and combine-skip"
    ),
    "quick-thought": Entry(
        "adequa.encoders.quick_thought:QuickThought", "two GRU encoders, concatenated"
    ),
    "precomputed": Entry(
        "adequa.encoders.precomputed:Precomputed", "vectors of any origin: an .npz or Parquet file"
    ),
}


_VECTORS = {".npz", ".parquet"}  # the endings of files of vectors


def encoder_class(kind: str) -> Any:
    """The class behind a kind of encoder; imports only that one."""
    entry = ENCODERS.get(kind)
    if entry is None:
        raise AdequaError(
            f'There is no kind of encoder named "{kind}".{nearest(kind, ENCODERS)} Write'
            f" KIND:PATH; the kinds are {', '.join(ENCODERS)}."
        )
    module, _, attribute = entry.target.partition(":")
    return getattr(import_module(module), attribute)


def settings_of(found: Any) -> dict[str, object]:
    """The settings of an encoder's class with their defaults."""
    return {
        name: None if parameter.default is parameter.empty else parameter.default
        for name, parameter in signature(found.load).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def load_encoder(specification: str) -> Encoder | PairEncoder:
    """The encoder that command-line words name."""
    loaded: Encoder | PairEncoder = load_from(specification, encoder_class)
    return loaded


def load_from(
    specification: str, class_of: Callable[[str], Any], otherwise: Mapping[str, str] | None = None
) -> Any:
    """What command-line words name, of the class that a function gives for their kind.

    `otherwise` has settings that hold where the words do not say them and the class has them.
    """
    kind, path, settings = _parsed(specification)
    found = class_of(kind)
    known = settings_of(found)
    settings = {k: v for k, v in (otherwise or {}).items() if k in known} | settings
    return found.load(path, **_checked(kind, found, settings))


def load_encoders(specifications: Sequence[str]) -> Encoder | PairEncoder:
    """One encoder, or several sentence encoders whose vectors are put one after the other."""
    found = [load_encoder(specification) for specification in specifications]
    if not found:
        raise AdequaError(f"Name an encoder as KIND:PATH; the kinds are {', '.join(ENCODERS)}.")
    if len(found) == 1:
        return found[0]
    from adequa.encoders.base import Concatenation  # noqa: PLC0415  # rarely needed

    for encoder in found:
        if not isinstance(encoder, Encoder):
            raise AdequaError(
                f"{encoder.name} reads two sentences together and cannot be joined with others."
            )
    return Concatenation(tuple(each for each in found if isinstance(each, Encoder)))


def moved(specification: str, place: str) -> str:
    """The same encoder at another place, or whatever encoder the place itself names in full.

    >>> moved("transformer:models/mpnet,pooling=cls", "elsewhere/mpnet")
    'transformer:elsewhere/mpnet,pooling=cls'
    >>> moved("transformer:models/mpnet,pooling=cls", "precomputed:vectors.npz")
    'precomputed:vectors.npz'
    """
    if place.partition(":")[0] in ENCODERS or Path(place).suffix in _VECTORS:
        return place
    kind, _, settings = _parsed(specification)
    return written_out(kind, place, settings)


def settings_in(specification: str) -> dict[str, str]:
    """The settings that are written out.

    >>> settings_in("infersent:i1.pkl,words=a.txt")
    {'words': 'a.txt'}
    """
    return _parsed(specification)[2]


def with_setting(specification: str, name: str, value: str) -> str:
    """The same encoder with another value of a setting, where it has that setting.

    >>> with_setting("infersent:i1.pkl,words=a.txt", "words", "b.txt")
    'infersent:i1.pkl,words=b.txt'
    >>> with_setting("transformer:mpnet", "words", "b.txt")
    'transformer:mpnet'
    """
    kind, path, settings = _parsed(specification)
    return written_out(kind, path, settings | {name: value} if name in settings else settings)


def written_out(kind: str, path: str, settings: Mapping[str, str]) -> str:
    """An encoder in command-line words."""
    return ",".join([f"{kind}:{path}", *(f"{key}={value}" for key, value in settings.items())])


def _parsed(specification: str) -> tuple[str, str, dict[str, str]]:
    """Kind, path and settings; a folder or file without a kind is guessed from what it is."""
    kind, colon, rest = specification.partition(":")
    if not colon or "," in kind:
        kind, rest = _guessed(specification), specification
    # A path may hold commas: settings begin at the first part that is written NAME=VALUE.
    parts = rest.split(",")
    start = next((at for at, part in enumerate(parts) if at and "=" in part), len(parts))
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


def _guessed(specification: str) -> str:
    path = specification.partition(",")[0]
    if Path(path).is_dir():
        return "transformer"
    if Path(path).suffix in _VECTORS:
        return "precomputed"
    if Path(path).is_file():
        return "words"
    if path in ENCODERS:
        raise AdequaError(f"{path} is a kind of encoder; write {path}:PATH.")
    raise AdequaError(
        f"There is no file or folder {path}, and no encoder without one; write KIND:PATH, with one"
        f" of the kinds {', '.join(ENCODERS)}."
    )


def _checked(kind: str, found: Any, settings: dict[str, str]) -> dict[str, object]:
    """Settings as the parameters of `load` want them."""
    known = settings_of(found)
    checked: dict[str, object] = {}
    for key, text in settings.items():
        if key not in known:
            raise AdequaError(
                f'{kind} has no setting named "{key}".{nearest(key, known)} Its settings:'
                f" {', '.join(known) or 'none'}."
            )
        checked[key] = _value(kind, key, text, known[key])
    return checked


def _value(kind: str, key: str, text: str, default: object) -> object:
    """A setting as the type of its default."""
    try:
        if isinstance(default, bool):
            return TRUTH[text.lower()]
        return int(text) if isinstance(default, int) else text
    except (KeyError, ValueError):
        wanted = "true or false" if isinstance(default, bool) else "a whole number"
        raise AdequaError(f"{kind}: {key} must be {wanted}, not {text!r}.") from None
