"""Saved metrics: a folder with metric.json, weights as plain arrays, and a card for people.

Loading one runs no code of the folder: the kind in metric.json chooses a class of this package, and
the weights are arrays of numbers, checked against the digest in metric.json. All files of a metric
lie in its folder: links that lead out of it, pipes and devices are refused before they are read.
What is named beside them, such as the encoder of its training, is checked by a fingerprint.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adequa.errors import AdequaError, as_path, nearest
from adequa.io.arrays import ArrayError, unpack
from adequa.io.atomic import atomic_folder, digest_of
from adequa.io.files import check_enclosed, file_within, read_regular
from adequa.languages import known_language
from adequa.metrics.base import MeanMetric, Metric
from adequa.metrics.registry import DESCRIPTION
from adequa.segments import LARGEST_SCORE, FloatArray, Segments
from adequa.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = 1  # of metric.json; raised when an older version could not read it
WEIGHTS, CARD = "weights.npz", "README.md"
DIGITS = 12  # of the digest, as signatures show it

# Classes by kind, with a method `load(description, arrays, folder, /, **settings)`.
KINDS = {
    "blend": "adequa.learned.blend:Blend",
    "embedding-regressor": "adequa.learned.embedding.metric:EmbeddingRegressor",
    "ensemble": "adequa.learned.ensemble:Ensemble",
    "packed-pair": "adequa.learned.packed.metric:PackedPair",
    "pair-regressor": "adequa.learned.pair.metric:PairRegressor",
    "pairwise-ranker": "adequa.learned.pairwise.metric:PairwiseRanker",
    "tree-lstm": "adequa.learned.reval.metric:TreeLstm",
}


@dataclass(frozen=True, slots=True)
class Description:
    """The content of metric.json."""

    kind: str
    name: str
    settings: Mapping[str, Any]
    training: Mapping[str, Any] = field(default_factory=dict)  # facts about its training
    agreement: Mapping[str, Any] = field(default_factory=dict)  # measured while it was trained
    versions: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""  # sha256 of the file of weights; empty where there is none
    files: Mapping[str, str] = field(default_factory=dict)  # sha256 of further files, by path
    format: int = FORMAT
    # Codes of the languages that it is made for; None where its training data is to say.
    languages: Sequence[str] | None = None

    @property
    def known_languages(self) -> frozenset[str] | None:
        """Codes of the languages that it was made for or trained on; None where that is unknown."""
        if self.languages is not None:
            return frozenset(self.languages)
        pairs = self.training.get("rows_by_language_pair")
        targets = [known_language(pair, "column") for pair in pairs or ()]
        codes = {each.code for each in targets if each is not None and each.code is not None}
        return frozenset(codes) if codes and None not in targets else None

    @property
    def identity(self) -> str:
        """The digest of all weights: of their file, and of further files where there are any."""
        if not self.files:
            return self.digest
        listed = json.dumps([self.digest, sorted(self.files.items())])
        return hashlib.sha256(listed.encode()).hexdigest()


def is_name(name: str) -> bool:
    """Return whether signatures and tables can show this name of a metric."""
    return name.isprintable() and bool(name.strip()) and "|" not in name


def is_saved(path: str) -> bool:
    """Return whether this path is the folder of a saved metric."""
    return (Path(path) / DESCRIPTION).is_file()


def save(
    folder: Path,
    description: Description,
    arrays: Mapping[str, np.ndarray] | None,
    card: str,
    write_further: Callable[[Path], Mapping[str, str] | None] = lambda _: None,
) -> Description:
    """Write a metric's folder atomically; return the description as it is written.

    `write_further` writes other files of the metric, such as an encoder, to a folder and returns
    the digests of those that loading checks, by path. Without `arrays`, they hold all weights.
    """
    for name, array in (arrays or {}).items():
        if not _is_plain(array):
            raise AdequaError(
                f"The training gave no usable weights ({name}): its data hold extreme numbers. "
                "Standardise the ratings or leave such rows out."
            )
    weights = None if arrays is None else _npz(arrays)
    described = asdict(description) | {
        "digest": "" if weights is None else hashlib.sha256(weights).hexdigest(),
        "versions": {
            "adequa": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            **description.versions,
        },
    }
    with atomic_folder(folder) as target:
        described["files"] = dict(write_further(target) or {})
        if weights is not None:
            (target / WEIGHTS).write_bytes(weights)
        (target / DESCRIPTION).write_text(
            json.dumps(_without_none(described), ensure_ascii=False, allow_nan=False, indent=1)
            + "\n",
            encoding="utf-8",
        )
        (target / CARD).write_text(card, encoding="utf-8")
    return Description(**described)


def _without_none(described: dict[str, Any]) -> dict[str, Any]:
    """The description without languages where none are declared, as earlier versions read it."""
    return {key: value for key, value in described.items() if (key, value) != ("languages", None)}


def _is_plain(numbers: np.ndarray) -> bool:
    """Whether numbers are finite, and so far from the largest that their sums are finite, too."""
    return float(np.abs(numbers).max(initial=0)) <= LARGEST_SCORE  # which NaN is not


def _npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]  # no array is named as its settings are
    return file.getvalue()


class SavedMetric(MeanMetric):
    """A metric that is saved to a folder."""

    def checked_statistics(self, segments: Segments) -> FloatArray:
        """The statistics; raise where they are no numbers, as those of extreme weights are."""
        with np.errstate(all="ignore"):
            statistics = super().checked_statistics(segments)
        if not _is_plain(statistics):
            raise AdequaError(
                f"{self.name} gives scores that are no usable numbers: its weights are damaged, or "
                "it was trained on extreme numbers."
            )
        return statistics

    @classmethod
    def load(cls, folder: str | Path, **settings: str) -> Self:
        """Load the metric of this class that `save` wrote to a folder."""
        metric = load(str(as_path(folder)), settings)
        if not isinstance(metric, cls):
            raise AdequaError(
                f"{folder} holds no {cls.__name__} but a {type(metric).__name__}; "
                "adequa.load_metric loads a metric of any kind."
            )
        return metric


def load(path: str, settings: Mapping[str, str]) -> Metric:
    """Load the metric of a folder; some kinds take settings, such as where their encoder is now."""
    try:
        return _load(Path(path), settings)
    except RecursionError as error:
        raise AdequaError(
            f"{path} is a damaged metric: it is nested too deeply, or made of itself."
        ) from error


def _load(folder: Path, settings: Mapping[str, str]) -> Metric:
    description = read_description(folder)
    check_enclosed(folder)
    target = KINDS.get(description.kind)
    if target is None:
        raise AdequaError(
            f'{folder / DESCRIPTION} is of the kind "{description.kind}", which this version of '
            f"adequa does not know.{nearest(description.kind, KINDS)}"
        )
    _check_files(folder, description)
    module, _, attribute = target.partition(":")
    metric_class = getattr(import_module(module), attribute)
    try:
        metric = metric_class.from_saved(
            description, _arrays(folder, description), folder, **settings
        )
        if not isinstance(metric, Metric):
            raise TypeError(f"{target} loads no metric")
        if metric.languages is None:
            metric.languages = description.known_languages
    except RecursionError:  # a RuntimeError with a sentence of its own
        raise
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise AdequaError(
            f"{folder} is a damaged metric: its settings or weights are not those of "
            f"{description.kind} ({reason})."
        ) from error
    return metric


def read_description(folder: Path) -> Description:
    """Read metric.json, and check its structure."""
    path = file_within(folder, DESCRIPTION)
    content = read_regular(path)
    try:
        read = json.loads(content)
        if not isinstance(read, dict) or not isinstance(read.get("format"), int):
            raise ValueError("it says no format")
        if read["format"] > FORMAT:
            raise AdequaError(
                f"{path} was written by a later version of adequa; this is {__version__}."
            )
        described = Description(**read)
        kinds: dict[str, type] = {
            "kind": str,
            "name": str,
            "digest": str,
            "settings": dict,
            "training": dict,
            "agreement": dict,
            "versions": dict,
            "files": dict,
        }
        for key, kind in kinds.items():
            if not isinstance(getattr(described, key), kind):
                raise ValueError(f"{key} is not as it should be")
        if not is_name(described.name):
            raise ValueError("the name holds characters that no signature can show")
    except (ValueError, TypeError) as error:
        raise AdequaError(f"{path} describes no metric as adequa saves them: {error}.") from error
    return described


def _check_files(folder: Path, description: Description) -> None:
    for name, digest in description.files.items():
        path = file_within(folder, name)
        if digest_of(path) != digest:
            raise AdequaError(
                f"{path} is not the file that {DESCRIPTION} describes: it is damaged, or "
                "of another metric."
            )


def _arrays(folder: Path, description: Description) -> dict[str, np.ndarray]:
    if not description.digest:
        return {}
    path = file_within(folder, WEIGHTS)
    weights = read_regular(path)
    if hashlib.sha256(weights).hexdigest() != description.digest:
        raise AdequaError(
            f"{path} is not the file that {DESCRIPTION} describes: it is damaged, or of another"
            " metric."
        )
    try:
        arrays = unpack(io.BytesIO(weights))
    except ArrayError as error:
        raise AdequaError(f"{path} holds no arrays that can be read: {error}.") from error
    for name, array in arrays.items():
        if array.dtype.kind == "U" or not _is_plain(array):
            raise AdequaError(f"{path} is damaged: {name} should hold usable numbers only.")
    return arrays
