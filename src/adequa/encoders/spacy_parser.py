"""Dependency parses by spaCy: a model in a folder, or one that is installed as a package."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.encoders.parses import Parser, Parses, one_root
from adequa.encoders.transformer_files import MODELS, read_json
from adequa.errors import AdequaError
from adequa.io.atomic import digest_of
from adequa.io.trees import ROOT, Parents
from adequa.runtime.batching import distinct
from adequa.runtime.cache import Tree
from adequa.segments import check_characters

# The parser, and what it may read: the network below it, and tags in some models.
_PARTS = ("tok2vec", "transformer", "curated_transformer", "tagger", "parser")
_BATCH = 128  # texts
# Under which a model may lie in ADEQUA_MODELS too, by its published name.
_SHORT_NAMES = {"en_core_web_md": "spacy-en-md"}
# Raised when words or trees are made from spaCy's in another way.
_VERSION = 1


class SpacyParser(Parser):
    """Parses with the tagger and the parser of a spaCy model; its other parts are not loaded.

    White space is no word. Texts are parsed in batches, which on a CPU change no number of spaCy's
    own networks, so that a tree does not depend on the texts beside it.
    """

    def __init__(self, folder: Path, pipeline: Any, fingerprint: str, said: Sequence[str]) -> None:
        self.folder = folder
        self.specifications = (f"spacy:{folder}",)
        meta = pipeline.meta
        self.name = f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}"
        self.fingerprint = fingerprint
        self._pipeline = pipeline
        self._said = tuple(dict.fromkeys(said))

    @classmethod
    def load(cls, model: str) -> SpacyParser:
        """Load a folder, a folder of that name in ADEQUA_MODELS, or an installed model."""
        spacy = _spacy()
        folder = _folder(spacy, model)
        parts = _parts(folder)
        others = [part for part in parts if part not in _PARTS]
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                pipeline = spacy.load(folder, exclude=others)
        except Exception as error:  # spaCy and what it is made of raise a great many kinds
            raise AdequaError(
                f"{folder} cannot be loaded as a spaCy model: {_reason(error)}."
            ) from error
        kept = [part for part in parts if part in _PARTS]
        said = [_reason(warning.message) for warning in caught if warning.category is UserWarning]
        return cls(folder, pipeline, _fingerprint(folder, kept, spacy.__version__), said)

    def parse(self, texts: Sequence[str]) -> Parses:
        different, at = distinct(texts)
        longest = max(map(len, different), default=0)
        self._pipeline.max_length = max(self._pipeline.max_length, longest + 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said about a text, not for the user
                trees = list(map(_tree, self._pipeline.pipe(different, batch_size=_BATCH)))
        except (ValueError, UnicodeError) as error:
            check_characters(different, error)
            raise
        return Parses.of(trees).take(at)

    def remarks(self) -> tuple[str, ...]:
        return self._said


def _tree(document: Any) -> Tree:
    """The words of a document, without white space, and the parent of each."""
    spaces = np.array([token.is_space for token in document], dtype=np.bool_)
    words = tuple(token.text for token in document if not token.is_space)
    heads = np.array([token.head.i for token in document], dtype=np.intp)
    places = np.arange(len(heads))
    parents = _lifted(np.where(heads == places, ROOT, heads), spaces)
    return words, one_root(parents, np.array([0, len(parents)]))


def _lifted(parents: npt.NDArray[np.intp], spaces: npt.NDArray[np.bool_]) -> Parents:
    """Parents among what is not white space; what hangs from white space hangs from its parent.

    >>> _lifted(np.array([-1, 2, 0]), np.array([False, False, True])).tolist()
    [-1, 0]
    """
    over = parents.copy()
    while (lost := np.flatnonzero((over != ROOT) & spaces[over])).size:
        over[lost] = parents[over[lost]]
    numbers = np.cumsum(~spaces) - 1
    return np.where(over == ROOT, ROOT, numbers[over])[~spaces].astype(np.int32)


def _spacy() -> Any:
    try:
        return import_module("spacy")  # an extra, heavy, and without types to check
    except ImportError as error:
        raise AdequaError(
            "Parsing needs spaCy; install it with: pip install 'adequa[parse]', or give parses as "
            "CoNLL-U files (conllu:FILE)."
        ) from error


def _folder(spacy: Any, model: str) -> Path:
    """The folder that holds a model's files."""
    named = os.environ.get(MODELS)
    names = dict.fromkeys([model, _SHORT_NAMES.get(model, model)])
    for place in (Path(model), *([Path(named, name) for name in names] if named else [])):
        if place.is_dir():
            return _with_files(place.resolve())
    if Path(model).exists():
        raise AdequaError(f"{model} is a file; a spaCy model is a folder.")
    if model.isidentifier() and spacy.util.is_package(model):
        return _with_files(Path(spacy.util.get_package_path(model)).resolve())
    raise AdequaError(
        f"There is no folder {model}, and no spaCy model of that name is installed; check the "
        f"path, or name the folder that holds it in {MODELS}."
    )


def _with_files(place: Path) -> Path:
    """The folder itself, or the one in it where a package keeps its files."""
    inside = sorted(found.parent for found in place.glob("*/config.cfg"))
    if not (place / "config.cfg").is_file() and len(inside) == 1:
        return inside[0]
    return place


def _parts(folder: Path) -> list[str]:
    """The parts of a model, by its own description."""
    meta = read_json(folder / "meta.json")
    if not (folder / "config.cfg").is_file() or not isinstance(meta, dict):
        raise AdequaError(f"{folder} lacks config.cfg or meta.json, so it is no spaCy model.")
    parts = [*(meta.get("pipeline") or ()), *(meta.get("disabled") or ())]
    if "parser" not in parts:
        raise AdequaError(
            f"{folder} has no parser, only {', '.join(map(str, parts)) or 'nothing'}; name a model "
            "that parses, such as en_core_web_md."
        )
    return parts


def _fingerprint(folder: Path, parts: Sequence[str], version: str) -> str:
    """A digest of the files that words and trees depend on, and of spaCy's version."""
    tops = [folder / name for name in ("config.cfg", "tokenizer", "vocab", *parts)]
    files = sorted(file for top in tops for file in (top, *top.rglob("*")) if file.is_file())
    digests = {file.relative_to(folder).as_posix(): digest_of(file) for file in files}
    return hashlib.sha256(json.dumps([_VERSION, version, digests]).encode()).hexdigest()


def _reason(error: object) -> str:
    return (str(error).strip().partition("\n")[0] or type(error).__name__).rstrip(".:")
