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

# The parser, and what it may need: the network below it, and tags in some models.
_COMPONENTS = ("tok2vec", "transformer", "curated_transformer", "tagger", "parser")
_BATCH = 128  # texts
# Short folder names in ADEQUA_MODELS, by the published name of a model.
_SHORT_NAMES = {"en_core_web_md": "spacy-en-md"}
# Increment when words or trees are derived from those of spaCy in another way.
_VERSION = 1


class SpacyParser(Parser):
    """Parses with the tagger and the parser of a spaCy model; other components are not loaded.

    White space is not a word. Texts are parsed in batches. On a CPU batches do not change the
    numbers of spaCy's networks, so that a tree does not depend on the other texts.
    """

    def __init__(
        self, folder: Path, pipeline: Any, fingerprint: str, messages: Sequence[str]
    ) -> None:
        self.folder = folder
        self.specifications = (f"spacy:{folder}",)
        meta = pipeline.meta
        self.name = f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}"
        self.fingerprint = fingerprint
        self._pipeline = pipeline
        self._messages = tuple(dict.fromkeys(messages))

    @classmethod
    def load(cls, model: str) -> SpacyParser:
        """Load a folder, a folder of that name in ADEQUA_MODELS, or an installed model."""
        spacy = _spacy()
        folder = _folder(spacy, model)
        components = _components(folder)
        unused = [name for name in components if name not in _COMPONENTS]
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                pipeline = spacy.load(folder, exclude=unused)
        except Exception as error:  # spaCy and its dependencies raise errors of many classes
            raise AdequaError(
                f"{folder} cannot be loaded as a spaCy model: {_reason(error)}."
            ) from error
        used = [name for name in components if name in _COMPONENTS]
        messages = [_reason(each.message) for each in caught if each.category is UserWarning]
        return cls(folder, pipeline, _fingerprint(folder, used, spacy.__version__), messages)

    def parse(self, texts: Sequence[str]) -> Parses:
        unique, index = distinct(texts)
        longest = max(map(len, unique), default=0)
        self._pipeline.max_length = max(self._pipeline.max_length, longest + 1)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about single texts, not for the user
                trees = list(map(_tree, self._pipeline.pipe(unique, batch_size=_BATCH)))
        except (ValueError, UnicodeError) as error:
            check_characters(unique, error)
            raise
        return Parses.of(trees).take(index)

    def remarks(self) -> tuple[str, ...]:
        return self._messages


def _tree(document: Any) -> Tree:
    """Return the words of a document, without white space, and the parent of each."""
    spaces = np.array([token.is_space for token in document], dtype=np.bool_)
    words = tuple(token.text for token in document if not token.is_space)
    heads = np.array([token.head.i for token in document], dtype=np.intp)
    parents = np.where(heads == np.arange(len(heads)), ROOT, heads)
    parents = _without_spaces(parents, spaces)
    return words, one_root(parents, np.array([0, len(parents)]))


def _without_spaces(parents: npt.NDArray[np.intp], spaces: npt.NDArray[np.bool_]) -> Parents:
    """Remove white space from a tree; its children are attached to its parent.

    >>> _without_spaces(np.array([-1, 2, 0]), np.array([False, False, True])).tolist()
    [-1, 0]
    """
    heads = parents.copy()
    while (orphans := np.flatnonzero((heads != ROOT) & spaces[heads])).size:
        heads[orphans] = parents[heads[orphans]]
    new_index = np.cumsum(~spaces) - 1
    return np.where(heads == ROOT, ROOT, new_index[heads])[~spaces].astype(np.int32)


def _spacy() -> Any:
    try:
        return import_module("spacy")  # an extra, heavy, and without types to check
    except ImportError as error:
        raise AdequaError(
            "Parsing needs spaCy; install it with: pip install 'adequa[parse]', or give parses as "
            "CoNLL-U files (conllu:FILE)."
        ) from error


def _folder(spacy: Any, model: str) -> Path:
    """Return the folder of a model's files."""
    models = os.environ.get(MODELS)
    names = (model, _SHORT_NAMES.get(model, model)) if models else ()
    for folder in (Path(model), *(Path(models or "", name) for name in names)):
        if folder.is_dir():
            return _data_folder(folder.resolve())
    if Path(model).exists():
        raise AdequaError(f"{model} is a file; a spaCy model is a folder.")
    if model.isidentifier() and spacy.util.is_package(model):
        return _data_folder(Path(spacy.util.get_package_path(model)).resolve())
    raise AdequaError(
        f"There is no folder {model}, and no spaCy model of that name is installed; check the "
        f"path, or name the folder that holds it in {MODELS}."
    )


def _data_folder(folder: Path) -> Path:
    """Return the folder, or the one inside it where a package keeps its files."""
    inside = sorted(config.parent for config in folder.glob("*/config.cfg"))
    if not (folder / "config.cfg").is_file() and len(inside) == 1:
        return inside[0]
    return folder


def _components(folder: Path) -> list[str]:
    """Read the names of a model's components from its description."""
    meta = read_json(folder / "meta.json")
    if not (folder / "config.cfg").is_file() or not isinstance(meta, dict):
        raise AdequaError(f"{folder} lacks config.cfg or meta.json, so it is no spaCy model.")
    components = [*(meta.get("pipeline") or ()), *(meta.get("disabled") or ())]
    if "parser" not in components:
        raise AdequaError(
            f"{folder} has no parser, only {', '.join(map(str, components)) or 'nothing'}; name a "
            "model that parses, such as en_core_web_md."
        )
    return components


def _fingerprint(folder: Path, components: Sequence[str], version: str) -> str:
    """Return a digest of the files that words and trees depend on, and of spaCy's version."""
    tops = [folder / name for name in ("config.cfg", "tokenizer", "vocab", *components)]
    files = sorted(file for top in tops for file in (top, *top.rglob("*")) if file.is_file())
    digests = {file.relative_to(folder).as_posix(): digest_of(file) for file in files}
    return hashlib.sha256(json.dumps([_VERSION, version, digests]).encode()).hexdigest()


def _reason(error: object) -> str:
    return (str(error).strip().partition("\n")[0] or type(error).__name__).rstrip(".:")
