"""Metrics by name: a lazy table, metrics from command-line words, and checks of settings.

The table maps a name to "module:Class", so that listing metrics imports none of them. A new metric
is one new file and one line here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from threading import RLock
from types import NoneType
from typing import Any, get_args, get_type_hints

from adequa.errors import AdequaError, UnknownSettingError, nearest
from adequa.io.text import BOOLEANS
from adequa.metrics.base import Metric, Need, Part


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table: where a metric lives and what to tell a user of it."""

    target: str
    summary: str
    is_trained: bool = False
    # As the class has it, so that listing metrics imports none of them.
    reads: Mapping[Part, Need] = field(default_factory=lambda: Metric.reads)


DESCRIPTION = "metric.json"  # of a saved metric, in its folder

_IN_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    NoneType: "none",
}

SHIPPED_METRICS = ("adequa", "adequa-fast", "adequa-1")  # trained ones that come with their weights
METRICS: dict[str, Entry] = {
    "adequa": Entry(
        "adequa.learned.packed.metric:Adequa",
        "human ratings, predicted by a small trained model that ships with adequa",
        is_trained=True,
    ),
    "adequa-fast": Entry(
        "adequa.learned.packed.metric:AdequaFast",
        "the same, predicted by a smaller and faster model",
        is_trained=True,
    ),
    "adequa-1": Entry(
        "adequa.learned.packed.metric:Adequa1",
        "the first edition of adequa, to get earlier scores again",
        is_trained=True,
    ),
    "bleu": Entry(
        "adequa.metrics.sacrebleu_metrics:BLEU", "n-gram precision with a brevity penalty"
    ),
    "sentbleu": Entry(
        "adequa.metrics.sacrebleu_metrics:SentBLEU",
        "smoothed sentence BLEU, the WMT metrics-task baseline",
    ),
    "chrf": Entry("adequa.metrics.sacrebleu_metrics:CHRF", "character n-gram F-score"),
    "chrf++": Entry(
        "adequa.metrics.sacrebleu_metrics:CHRFPlusPlus", "chrF with word unigrams and bigrams"
    ),
    "nist": Entry("adequa.metrics.nist:NIST", "n-gram matches weighted by their information"),
    "meteor": Entry(
        "adequa.metrics.meteor.metric:METEOR", "aligned words, by form, stem, synonym or paraphrase"
    ),
    "ter": Entry(
        "adequa.metrics.sacrebleu_metrics:TER", "word edits and phrase shifts per reference word"
    ),
    "wer": Entry("adequa.metrics.edit_rates:WER", "word edits per reference word"),
    "per": Entry(
        "adequa.metrics.edit_rates:PER", "word errors regardless of order per reference word"
    ),
    "cder": Entry(
        "adequa.metrics.edit_rates:CDER", "word edits with block moves per reference word"
    ),
    "character": Entry(
        "adequa.metrics.edit_rates:CharacTER", "character edits after word shifts (CharacTER)"
    ),
}


def metric_class(name: str) -> type[Metric]:
    """The class behind a metric's name, whatever its case; imports only that metric.

    >>> metric_class("BLEU").name
    'bleu'
    """
    entry = METRICS.get(name.strip().lower())
    if entry is None:
        raise AdequaError(
            f'There is no metric named "{name}".{nearest(name, METRICS)}'
            " The command `adequa metrics` lists them all."
        )
    module, _, attribute = entry.target.partition(":")
    metric: type[Metric] = getattr(import_module(module), attribute)
    return metric


def load_metric(specification: str | os.PathLike[str] | Metric, **settings: object) -> Metric:
    """Return a metric by its name or its folder, with settings after a colon or as arguments.

    A metric object without settings is returned as it is.

    >>> load_metric("bleu:tokenize=intl,lowercase=true")
    BLEU(lowercase=True, tokenize='intl', smooth_method='exp', smooth_value=None,
         max_ngram_order=4, effective_order=False)
    >>> load_metric("chrf", word_order=1).name
    'chrf'
    """
    if isinstance(specification, Metric) and not settings:
        return specification
    specification = _as_text(specification)
    folder, written = _folder_of(specification)
    if folder is not None:
        assigned = _assigned(folder, specification, written)
        _refuse_twice(folder, {*assigned} & {*settings})
        from adequa.metrics.saved import load  # noqa: PLC0415 - no metric by name needs it

        return load(folder, assigned | {key: str(value) for key, value in settings.items()})
    return named_metric(specification, **settings)


def _as_text(specification: object) -> str:
    if isinstance(specification, str | os.PathLike):
        return os.fspath(specification)
    several = (
        " adequa.score takes several as metrics=[...]."
        if isinstance(specification, list | tuple)
        else ""
    )
    raise AdequaError(
        f"metric must be a metric's name or a metric, not {specification!r}.{several}"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """A metric in memory, the state of its folder when it was loaded, and a lock for its users."""

    metric: Metric
    version: tuple[int, ...]
    lock: RLock


_SHARED_METRICS = 8  # the last ones in use stay in memory
_shared: dict[tuple[str, str], _Loaded] = {}  # by specification and working directory
if hasattr(os, "register_at_fork"):  # an open ONNX model does not survive a fork
    os.register_at_fork(after_in_child=_shared.clear)


@contextmanager
def shared_metric(specification: str | os.PathLike[str] | Metric) -> Iterator[Metric]:
    """A metric that stays in memory for the next caller; one thread at a time has it.

    It is loaded anew where its folder has changed. A metric object is yielded as it is.
    """
    if isinstance(specification, Metric):
        yield specification
        return
    specification = _as_text(specification)
    folder = _folder_of(specification)[0]
    version = () if folder is None else _folder_version(Path(folder))
    key = specification, str(Path.cwd())
    loaded = _shared.pop(key, None)
    if loaded is None or loaded.version != version:
        loaded = _Loaded(load_metric(specification), version, RLock())
    _shared[key] = loaded  # as the last one
    for oldest in list(_shared)[:-_SHARED_METRICS]:
        _shared.pop(oldest, None)
    with loaded.lock:
        yield loaded.metric


def _folder_version(folder: Path) -> tuple[int, ...]:
    """What changes when a metric is saved to its folder again."""
    described = (folder / DESCRIPTION).stat()
    return described.st_mtime_ns, described.st_size, described.st_ino


def clear_caches() -> None:
    """Free the memory of loaded metrics and of tokenized texts; later calls load them again."""
    _shared.clear()
    clear_text_caches()


def clear_text_caches() -> None:
    """Empty the caches of texts that sacreBLEU's tokenizers and METEOR's stemmer fill.

    These are bounded by the number of texts and not by their size: 65,536 sentences are little,
    and as many texts of 4,000 characters fill gigabytes.
    """
    from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer  # noqa: PLC0415 - slow

    from adequa.metrics.meteor.words import stem  # noqa: PLC0415

    tokenizers = [BaseTokenizer]
    for tokenizer in tokenizers:  # which grows by the classes derived from each
        tokenizers += tokenizer.__subclasses__()
        for method in vars(tokenizer).values():
            if hasattr(method, "cache_clear"):
                method.cache_clear()
    stem.cache_clear()


def named_metric(specification: str, **settings: object) -> Metric:
    """Return a metric by its name; nothing of the specification is ever looked up as a path."""
    name, _, written = specification.partition(":")
    kind = metric_class(name)
    assigned = _assigned(name, specification, written)
    _refuse_twice(kind.name, {*assigned} & {*settings})
    return kind(
        **{key: _checked(kind, key, value) for key, value in {**settings, **assigned}.items()}
    )


def parsed_settings(specification: str) -> dict[str, object]:
    """The settings behind a metric's name as it takes them, in whatever way they are written.

    >>> parsed_settings("chrf: beta =03, lowercase=Yes")
    {'beta': 3, 'lowercase': True}
    """
    name, _, written = specification.partition(":")
    kind = metric_class(name)
    assigned = _assigned(name, specification, written)
    return {key: _checked(kind, key, value) for key, value in assigned.items()}


def with_absolute_paths(specification: str) -> str:
    """A specification whose paths are absolute.

    >>> with_absolute_paths("bleu:tokenize=intl")
    'bleu:tokenize=intl'
    """
    folder, written = _folder_of(specification)
    if folder is None:
        return specification
    assigned = _assigned(folder, specification, written)
    settings = ",".join(f"{key}={_place_in_full(value)}" for key, value in assigned.items())
    return ":".join(filter(None, [str(Path(folder).resolve()), settings]))


def written_settings(specification: str) -> dict[str, str]:
    """The settings in the words of a metric, as they are written there.

    >>> written_settings("bleu:tokenize=intl,lowercase=true")
    {'tokenize': 'intl', 'lowercase': 'true'}
    """
    folder, written = _folder_of(specification)
    if folder is None:
        folder, _, written = specification.partition(":")
    return _assigned(folder, specification, written)


def _place_in_full(value: str) -> str:
    """A value, in full where it is a path, also behind a kind and a colon."""
    kind, colon, path = value.partition(":")
    if colon and not Path(value).exists():
        return f"{kind}:{_place_in_full(path)}"
    return str(Path(value).resolve()) if Path(value).exists() else value


def _folder_of(specification: str) -> tuple[str | None, str]:
    """The folder of a saved metric and the settings written behind it; no folder for a name."""
    path, _, written = specification.partition(":")
    # A name is a name, whatever folders there are; an empty one is not the current folder.
    if not path.strip() or path.strip().lower() in METRICS:
        return None, ""
    if _is_folder(specification):
        path, written = specification, ""
    try:
        if (Path(path) / DESCRIPTION).is_file():
            return path, written
        if not (Path(path).exists() or "/" in path):
            return None, ""
    except OSError as error:
        raise AdequaError(f'"{path[:40]}…" is no metric: {error.strerror}.') from error
    raise AdequaError(
        f"{path} holds no saved metric: there is no {DESCRIPTION} in it."
        if Path(path).is_dir()
        else f"{path} is no metric: there is no such folder."
    )


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:  # a part of it is longer than a file system takes, for one
        return False


def _assigned(name: str, specification: str, written: str) -> dict[str, str]:
    """Settings as they are written: NAME=VALUE,NAME=VALUE."""
    assigned: dict[str, str] = {}
    for assignment in filter(None, map(str.strip, written.split(","))):
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise AdequaError(
                f'"{assignment}" in "{specification}" is not a setting;'
                f" write settings as {name}:NAME=VALUE,NAME=VALUE."
            )
        _refuse_twice(name, {key} & {*assigned})
        assigned[key] = value
    return assigned


def _refuse_twice(name: str, keys: set[str]) -> None:
    for key in sorted(keys):
        raise AdequaError(f"{name}: {key} is given more than once.")


def settings_of(metric: type[Metric]) -> dict[str, object]:
    """The settings of a metric with their defaults; `choices` of the class has allowed words.

    >>> settings_of(metric_class("wer"))
    {'tokenize': '13a', 'lowercase': False}
    """
    return {
        setting.name: None if setting.default is MISSING else setting.default
        for setting in fields(metric)  # type: ignore[arg-type]  # every metric is a dataclass
    }


def allowed_values(metric: type[Metric], setting: str) -> str:
    """The values that a setting may have, for readers.

    >>> allowed_values(metric_class("wer"), "tokenize")
    '13a, intl, zh, char, none'
    >>> allowed_values(metric_class("wer"), "lowercase")
    'true or false'
    """
    if setting in metric.choices:
        return ", ".join(metric.choices[setting])
    if setting in metric.forms:
        return metric.forms[setting]
    values = _described(_types(metric, setting))
    if setting not in metric.limits:
        return values
    least, most = metric.limits[setting]
    number, _, alternative = values.partition(" or ")
    return " or ".join(filter(None, (f"{number} from {least:g} to {most:g}", alternative)))


def _types(metric: type[Metric], key: str) -> tuple[Any, ...]:
    """The types that a setting may have."""
    settings = settings_of(metric)
    if key not in settings:
        listed = ", ".join(settings) or "none"
        raise UnknownSettingError(
            f'{metric.name} has no setting named "{key}".{nearest(key, settings)}'
            f" Its settings: {listed}.",
            metric.name,
            key,
        )
    annotation = get_type_hints(metric)[key]
    return get_args(annotation) or (annotation,)


def _checked(metric: type[Metric], key: str, value: object) -> object:
    """The value of one setting: as it is, or parsed where it is written out."""
    types = _types(metric, key)
    if type(value) in types:
        return value
    if isinstance(value, str):
        return _parsed(metric, key, value, types)
    if float in types and type(value) is int:
        return float(value)
    raise AdequaError(f"{metric.name}: {key} must be {_described(types)}, not {value!r}.")


def _parsed(metric: type[Metric], key: str, text: str, types: tuple[Any, ...]) -> object:
    if NoneType in types and text.lower() == "none":
        return None
    kind = next(each for each in types if each is not NoneType)
    try:
        return BOOLEANS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise AdequaError(
            f"{metric.name}: {key} must be {_described(types)}, not {text!r}."
        ) from None


def _described(types: tuple[Any, ...]) -> str:
    return " or ".join(_IN_WORDS[each] for each in types)


def distinct_labels(specifications: Sequence[str], names: Sequence[str]) -> list[str]:
    """The name of each metric, or its specification where several metrics have this name.

    >>> distinct_labels(["CHRF", "chrf:beta=1", "ter"], ["chrf", "chrf", "ter"])
    ['CHRF', 'chrf:beta=1', 'ter']
    """
    labels = [
        name if names.count(name) == 1 else specification
        for specification, name in zip(specifications, names, strict=True)
    ]
    for label in labels:
        if labels.count(label) > 1:
            raise AdequaError(f'"{label}" is given more than once; name each metric once.')
    return labels


def check_settings(where: object, settings: Iterable[str], allowed: Sequence[str]) -> None:
    """Raise unless all settings given to a saved metric are among those it has."""
    for key in settings:
        if key not in allowed:
            raise UnknownSettingError(
                f'{where} has no setting named "{key}".{nearest(key, allowed)} Its settings: '
                f"{', '.join(allowed)}.",
                str(where),
                key,
            )


def device_error(metrics: Sequence[str]) -> AdequaError:
    """The error where a device is named that none of the metrics uses."""
    listed = ", ".join(metrics) or "files of scores"
    return AdequaError(
        f"--device goes with trained metrics, and there is none among these: {listed}."
    )


def whole_number(setting: str, value: str) -> int:
    """A setting as a whole number from 1 on."""
    if not value.isdecimal() or not int(value):
        raise AdequaError(f"{setting} must be a whole number from 1 on, not {value!r}.")
    return int(value)
