"""Dependency parses of segments: the Parser contract, parses from CoNLL-U files, and a cache.

Every segment has one tree. Where a parser finds several sentences, the roots of the later ones are
attached to the root of the first; a text without words has a tree without words.

A parser is written `spacy:MODEL` or `conllu:FILE`.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adequa.encoders.transformer_files import MODELS, read_json
from adequa.errors import AdequaError, nearest
from adequa.io.atomic import digest_of
from adequa.io.conllu import (
    ROOT,
    Parents,
    Starts,
    read_conllu,
    starts_of,
    write_conllu,
)
from adequa.io.files import open_regular
from adequa.io.storage import cache_folder
from adequa.io.text import FilePath, text_format
from adequa.runtime.batching import distinct
from adequa.runtime.cache import PARSES_LIMIT, ParseCache, Tree, text_key
from adequa.segments import check_characters

# The class of each kind of parser; each has `load(*paths)`.
PARSERS = {
    "spacy": "adequa.encoders.parses:SpacyParser",
    "conllu": "adequa.encoders.parses:ParsedFiles",
}
# Called with the number of texts that were parsed; texts from the cache do not count.
Progress = Callable[[int], None]

_CHUNK = 1024  # texts between two writes: what an interruption costs
_QUOTED = 60  # characters of a text in an error


@dataclass(frozen=True, slots=True, eq=False)
class Parses:
    """One tree per segment: the words of all segments, and the parent of each word.

    Segment i has the words from `starts[i]` to `starts[i + 1]`, in the order of the text. Parents
    are positions in the segment, from 0; the root has -1.

    >>> parses = Parses.of([(("Dogs", "bark"), (1, -1)), ((), ())])
    >>> parses.words, parses.parents.tolist(), parses.starts.tolist()
    (('Dogs', 'bark'), [1, -1], [0, 2, 2])
    """

    words: tuple[str, ...]
    parents: Parents
    starts: Starts

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", _frozen(self.parents, np.int32))
        object.__setattr__(self, "starts", _frozen(self.starts, np.intp))

    @classmethod
    def of(cls, trees: Iterable[tuple[Sequence[str], Sequence[int] | Parents]]) -> Parses:
        """Build parses from the words and parents of each segment."""
        pairs = list(trees)
        starts = np.array([0, *accumulate(len(words) for words, _ in pairs)])
        words = tuple(chain.from_iterable(words for words, _ in pairs))
        parents = [np.asarray(each, dtype=np.int32) for _, each in pairs]
        return cls(words, np.concatenate([np.empty(0, np.int32), *parents]), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def tree(self, row: int) -> Tree:
        """Return the words and the parents of one segment."""
        start, end = int(self.starts[row]), int(self.starts[row + 1])
        return self.words[start:end], self.parents[start:end]

    def take(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> Parses:
        """Return the segments of these rows, in this order; a row may come more than once."""
        segments = np.asarray(rows, dtype=np.intp)
        lengths = np.diff(self.starts)[segments]
        starts = starts_of(lengths)
        index = np.arange(starts[-1]) + np.repeat(self.starts[segments] - starts[:-1], lengths)
        words = tuple(map(self.words.__getitem__, index.tolist()))
        return Parses(words, self.parents[index], starts)

    def join(self, counts: Sequence[int] | npt.NDArray[np.integer]) -> Parses:
        """Join consecutive trees, `counts` at a time, as the sentences of one segment.

        >>> parses = Parses.of([(("Stop",), (-1,)), (("Dogs", "bark"), (1, -1)), ((), ())])
        >>> joined = parses.join([2, 1])
        >>> joined.parents.tolist(), joined.starts.tolist()
        ([-1, 2, 0], [0, 3, 3])
        """
        groups = starts_of(np.asarray(counts, dtype=np.intp))
        starts = self.starts[groups]
        shifts = self.starts[:-1] - np.repeat(starts[:-1], counts)
        shifted = self.parents + np.repeat(shifts, np.diff(self.starts))
        parents = np.where(self.parents == ROOT, ROOT, shifted)
        return Parses(self.words, one_root(parents, starts), starts)

    def write(self, path: FilePath, texts: Iterable[str] | None = None) -> None:
        """Write a CoNLL-U file, with the texts by which `ParsedFiles` looks the parses up."""
        trees = map(self.tree, range(len(self)))
        write_conllu(path, ((words, parents.tolist()) for words, parents in trees), texts)


def _frozen(array: npt.ArrayLike, kind: type[np.integer]) -> npt.NDArray[Any]:
    frozen = np.array(array, dtype=kind)  # a copy, so that nobody else can change it
    frozen.setflags(write=False)
    return frozen


def one_root(parents: npt.NDArray[np.integer], starts: Starts) -> Parents:
    """Attach all roots of a segment but the first to the first.

    >>> one_root(np.array([-1, 0, -1, -1, -1]), np.array([0, 4, 5])).tolist()
    [-1, 0, 0, 0, -1]
    """
    roots = np.flatnonzero(parents == ROOT)
    segments = np.searchsorted(starts, roots, side="right") - 1
    rooted, first = np.unique(segments, return_index=True)
    attached = np.array(parents, dtype=np.int32)
    attached[roots] = roots[first][np.searchsorted(rooted, segments)] - starts[segments]
    attached[roots[first]] = ROOT
    return attached


class Parser(ABC):
    """Turns texts into trees."""

    # The arguments from which `load_parser` loads the same parser, with full paths.
    specifications: tuple[str, ...]
    # A short name for tables and signatures.
    name: str
    # Hexadecimal digest of everything that changes the parses.
    fingerprint: str
    # Whether parsing is as fast as a lookup in a cache, which is then not used.
    is_quick: bool = False

    @abstractmethod
    def parse(self, texts: Sequence[str]) -> Parses:
        """Return one tree per text; the same text always has the same tree."""

    def remarks(self) -> tuple[str, ...]:
        """Return notes for the user about the parses."""
        return ()


def load_parser(*specifications: str) -> Parser:
    """Load the parser of a specification; several CoNLL-U files are read as one."""
    if not specifications or not all(isinstance(each, str) for each in specifications):
        raise AdequaError("Name a parser as spacy:MODEL or conllu:FILE.")
    kinds, paths = zip(*map(_kind_and_path, specifications), strict=True)
    if len(set(kinds)) > 1 or (kinds[0] != "conllu" and len(kinds) > 1):
        raise AdequaError(
            f"{' and '.join(specifications)} cannot be used together; give one spaCy model, or "
            "one or more CoNLL-U files."
        )
    module, _, attribute = PARSERS[kinds[0]].partition(":")
    loaded: Parser = getattr(import_module(module), attribute).load(*paths)
    return loaded


def _kind_and_path(specification: str) -> tuple[str, str]:
    kind, colon, path = specification.partition(":")
    if colon and kind in PARSERS and path.strip():
        return kind, path
    if text_format(specification) == ".conllu":
        return "conllu", specification
    if Path(specification).is_dir():
        return "spacy", specification
    raise AdequaError(
        f'"{specification}" names no parser.{nearest(kind, PARSERS)} Write spacy:MODEL, with a '
        "folder or a name in ADEQUA_MODELS, or conllu:FILE."
    )


class ParsedFiles(Parser):
    """Looks parses up in CoNLL-U files, by text.

    The text of a sentence is that of its `# text` line, or its words. A segment is looked up as a
    sentence with the same words, or else without regard to white space, as one sentence or as
    several. Where a sentence occurs again, the first tree counts.
    """

    is_quick = True

    def __init__(self, paths: Sequence[Path], texts: Sequence[str], parses: Parses) -> None:
        self.paths = tuple(paths)
        self.specifications = tuple(f"conllu:{path}" for path in paths)
        keys = list(map(_single_spaced, texts))
        self._exact: dict[str, int] = {}
        repeated = [row for row, key in enumerate(keys) if self._exact.setdefault(key, row) != row]
        self._conflicts = sum(_differ(parses, row, self._exact[keys[row]]) for row in repeated)
        self._rows: dict[str, int] = {}
        for key, row in self._exact.items():
            self._rows.setdefault(key.replace(" ", ""), row)
        self._lengths = sorted({len(key) for key in self._rows} - {0})
        self._parses = parses
        self.fingerprint = _digest(self._exact, parses)
        # A file may change under the same name, and signatures show the name.
        self.name = f"{'+'.join(path.name for path in paths)}@{self.fingerprint[:8]}"

    @classmethod
    def load(cls, *paths: str) -> ParsedFiles:
        """Read one or more files."""
        for path in paths:
            open_regular(path).close()  # the file of a saved metric is from anyone
        files = [read_conllu(path) for path in paths]
        if not any(map(len, files)):
            raise AdequaError(f"{' and '.join(file.name for file in files)}: there is no sentence.")
        lengths = np.concatenate([np.diff(file.starts) for file in files])
        parses = Parses(
            tuple(chain.from_iterable(file.words for file in files)),
            np.concatenate([file.parents for file in files]),
            starts_of(lengths),
        )
        texts = [text for file in files for text in file.texts]
        return cls([Path(path).resolve() for path in paths], texts, parses)

    def parse(self, texts: Sequence[str]) -> Parses:
        unique, index = distinct(texts)
        matches = [self._sentences(_single_spaced(text)) for text in unique]
        missing = [text for text, rows in zip(unique, matches, strict=True) if rows is None]
        if missing:
            raise AdequaError(
                f"{' and '.join(map(str, self.paths))}: there is no parse of {len(missing)} of "
                f'{len(unique)} different texts, the first being "{_shortened(missing[0])}"; '
                "parse them too, with each text after `# text =`."
            )
        rows = [rows or [] for rows in matches]
        sentences = self._parses.take(list(chain.from_iterable(rows)))
        return sentences.join(list(map(len, rows))).take(index)

    def _sentences(self, text: str) -> list[int] | None:
        """Return the sentences that make up a text; None where there are none."""
        row = self._exact.get(text)
        return self._segmentation(text.replace(" ", "")) if row is None else [row]

    def _segmentation(self, key: str) -> list[int] | None:
        """Split a text without white space into sentences, long ones before short ones."""
        reached: dict[int, tuple[int, int]] = {0: (0, -1)}  # by end: the start and the sentence
        stack = [0]
        while stack and (start := stack.pop()) < len(key):
            for length in self._lengths:
                end = start + length
                if end > len(key):
                    break
                row = self._rows.get(key[start:end])
                if row is not None and end not in reached:
                    reached[end] = (start, row)
                    stack.append(end)
        if len(key) not in reached:
            return None
        rows, end = [], len(key)
        while end:
            end, row = reached[end]
            rows.append(row)
        return rows[::-1]

    def remarks(self) -> tuple[str, ...]:
        if not self._conflicts:
            return ()
        times = "sentence occurs" if self._conflicts == 1 else "sentences occur"
        return (f"{self._conflicts} {times} again with another tree, and the first is used.",)


def _single_spaced(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _differ(parses: Parses, row: int, other: int) -> bool:
    (words, parents), (others, other_parents) = parses.tree(row), parses.tree(other)
    return words != others or not np.array_equal(parents, other_parents)


def _digest(rows: dict[str, int], parses: Parses) -> str:
    digest = hashlib.sha256(b"conllu 1")
    for key, row in rows.items():
        words, parents = parses.tree(row)
        digest.update(json.dumps([key, words, parents.tolist()]).encode())
    return digest.hexdigest()


def _shortened(text: str) -> str:
    quoted = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
    return quoted.encode("utf-8", "replace").decode()


def cached_parser(
    parser: Parser,
    folder: Path | None = None,
    *,
    limit: int = PARSES_LIMIT,
    progress: Progress | None = None,
) -> Parser:
    """Return a parser that caches its parses in a folder (by default in the cache folder).

    Quick parsers are returned as they are. `limit` is in bytes per file.
    """
    if parser.is_quick or isinstance(parser, CachedParser):
        return parser
    folder = cache_folder() / "parses" if folder is None else folder
    cache = ParseCache(folder / f"{parser.fingerprint}.db", limit)
    return CachedParser(parser, cache, progress)


class CachedParser(Parser):
    """A parser with a cache."""

    def __init__(self, parser: Parser, cache: ParseCache, progress: Progress | None = None) -> None:
        self.specifications = parser.specifications
        self.name = parser.name
        self.fingerprint = parser.fingerprint
        self.parser = parser
        self.cache = cache
        self._progress = progress

    def parse(self, texts: Sequence[str]) -> Parses:
        unique, index = distinct(texts)
        keys = [text_key(text) for text in unique]
        trees = self.cache.get(keys)
        missing = [row for row, key in enumerate(keys) if key not in trees]
        for start in range(0, len(missing), _CHUNK):
            rows = missing[start : start + _CHUNK]
            parsed = self.parser.parse([unique[row] for row in rows])
            new = {keys[row]: parsed.tree(i) for i, row in enumerate(rows)}
            self.cache.put(new)
            trees |= new
            if self._progress is not None:
                self._progress(len(rows))
        return Parses.of(trees[key] for key in keys).take(index)

    def remarks(self) -> tuple[str, ...]:
        return (*self.parser.remarks(), *self.cache.notes)


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
