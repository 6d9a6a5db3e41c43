"""Metrics by name: a lazy table, metrics from command-line words, and checks of settings.

The table maps a name to "module:Class", so that listing metrics imports none of them. A new metric
is one new file and one line here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from adequa.errors import AdequaError, UnknownSettingError, nearest
from adequa.io.text import TRUTH
from adequa.metrics import saved
from adequa.metrics.base import Metric


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table: where a metric lives and what to tell a user of it."""

    target: str
    summary: str
    is_trained: bool = False


_IN_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    NoneType: "none",
}

METRICS: dict[str, Entry] = {
    "adequa": Entry(
        "adequa.learned.packed.metric:Adequa",
        "what people would say, by a small trained model that ships with adequa",
        is_trained=True,
    ),
    "bleu": Entry("adequa.metrics.bleu:Bleu", "n-gram precision with a brevity penalty"),
    "sentbleu": Entry(
        "adequa.metrics.sentbleu:SentBleu", "smoothed sentence BLEU, the WMT metrics-task baseline"
    ),
    "chrf": Entry("adequa.metrics.chrf:Chrf", "character n-gram F-score"),
    "chrf++": Entry("adequa.metrics.chrf:ChrfPlusPlus", "chrF with word unigrams and bigrams"),
    "nist": Entry("adequa.metrics.nist:Nist", "n-gram matches weighted by their information"),
    "meteor": Entry(
        "adequa.metrics.meteor:Meteor", "aligned words, by form, stem, synonym or paraphrase"
    ),
    "ter": Entry("adequa.metrics.ter:Ter", "word edits and phrase shifts per reference word"),
    "wer": Entry("adequa.metrics.wer:Wer", "word edits per reference word"),
    "per": Entry("adequa.metrics.per:Per", "word errors regardless of order per reference word"),
    "cder": Entry("adequa.metrics.cder:Cder", "word edits with block moves per reference word"),
    "character": Entry(
        "adequa.metrics.character:Character", "character edits after word shifts (CharacTER)"
    ),
}


def metric_class(name: str) -> type[Metric]:
    """The class behind a metric's name; imports only that metric."""
    entry = METRICS.get(name)
    if entry is None:
        raise AdequaError(
            f'There is no metric named "{name}".{nearest(name, METRICS)}'
            " The command `adequa metrics` lists them all."
        )
    module, _, attribute = entry.target.partition(":")
    found: type[Metric] = getattr(import_module(module), attribute)
    return found


def load_metric(specification: str, **settings: object) -> Metric:
    """Return a metric by its name or its folder, with settings after a colon or as arguments.

    >>> load_metric("bleu:tokenize=intl,lowercase=true")
    Bleu(lowercase=True, tokenize='intl', smooth_method='exp', smooth_value=None,
         max_ngram_order=4, effective_order=False)
    >>> load_metric("chrf", word_order=1).name
    'chrf'
    """
    folder, written = _folder_of(specification)
    if folder is not None:
        assigned = _assigned(folder, specification, written)
        _refuse_twice(folder, {*assigned} & {*settings})
        return saved.load(folder, assigned | {key: str(value) for key, value in settings.items()})
    return named_metric(specification, **settings)


def named_metric(specification: str, **settings: object) -> Metric:
    """Return a metric by its name; nothing of the specification is ever looked up as a path."""
    name, _, written = specification.partition(":")
    kind = metric_class(name.strip())
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
    found = metric_class(name.strip())
    assigned = _assigned(name, specification, written)
    return {key: _checked(found, key, value) for key, value in assigned.items()}


def in_full(specification: str) -> str:
    """The same words, with paths that mean the same from any folder.

    >>> in_full("bleu:tokenize=intl")
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
    if not path.strip() or path.strip() in METRICS:
        return None, ""
    if _is_folder(specification):
        path, written = specification, ""
    try:
        if saved.is_saved(path):
            return path, written
        if not (Path(path).exists() or "/" in path):
            return None, ""
    except OSError as error:
        raise AdequaError(f'"{path[:40]}…" is no metric: {error.strerror}.') from error
    raise AdequaError(
        f"{path} holds no saved metric: there is no {saved.DESCRIPTION} in it."
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


def settings_of(found: type[Metric]) -> dict[str, object]:
    """The settings of a metric with their defaults.

    >>> settings_of(metric_class("wer"))
    {'tokenize': '13a', 'lowercase': False}
    """
    return {
        setting.name: None if setting.default is MISSING else setting.default
        for setting in fields(found)  # type: ignore[arg-type]  # every metric is a dataclass
    }


def _kinds(found: type[Metric], key: str) -> tuple[Any, ...]:
    """The types that a setting may have."""
    known = settings_of(found)
    if key not in known:
        listed = ", ".join(known) or "none"
        raise UnknownSettingError(
            f'{found.name} has no setting named "{key}".{nearest(key, known)}'
            f" Its settings: {listed}.",
            found.name,
            key,
        )
    wanted = get_type_hints(found)[key]
    return get_args(wanted) or (wanted,)


def _checked(found: type[Metric], key: str, value: object) -> object:
    """The value of one setting: as it is, or parsed where it is written out."""
    kinds = _kinds(found, key)
    if type(value) in kinds:
        return value
    if isinstance(value, str):
        return _parsed(found, key, value, kinds)
    if float in kinds and type(value) is int:
        return float(value)
    raise AdequaError(f"{found.name}: {key} must be {_described(kinds)}, not {value!r}.")


def _parsed(found: type[Metric], key: str, text: str, kinds: tuple[Any, ...]) -> object:
    if NoneType in kinds and text.lower() == "none":
        return None
    kind = next(kind for kind in kinds if kind is not NoneType)
    try:
        return TRUTH[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise AdequaError(
            f"{found.name}: {key} must be {_described(kinds)}, not {text!r}."
        ) from None


def _described(kinds: tuple[Any, ...]) -> str:
    return " or ".join(_IN_WORDS[kind] for kind in kinds)


HIGHEST_ORDER = 100  # of n-grams: far beyond use, and far from what would fill the memory


def check_choice(setting: str, value: str, known: Iterable[str]) -> None:
    """Raise unless `value` is one of the known values of a setting."""
    choices = list(known)
    if value not in choices:
        raise AdequaError(
            f'"{value}" is not a value of {setting}; choose one of {", ".join(choices)}.'
            + nearest(value, choices)
        )


def check_between(setting: str, value: float, least: float, most: float) -> None:
    """Raise unless a number lies between two bounds; NaN does not."""
    if not least <= value <= most:
        raise AdequaError(f"{setting} must be from {least:g} to {most:g}, not {value:g}.")


def check_order(setting: str, value: int, least: int = 1) -> None:
    """Raise unless a number makes sense as the highest order of n-grams."""
    check_between(setting, value, least, HIGHEST_ORDER)


def check_settings(where: object, settings: Iterable[str], known: Sequence[str]) -> None:
    """Raise unless all settings given to a saved metric are known."""
    for key in settings:
        if key not in known:
            raise UnknownSettingError(
                f'{where} has no setting named "{key}".{nearest(key, known)} Its settings: '
                f"{', '.join(known)}.",
                str(where),
                key,
            )


def no_device(metrics: Sequence[str]) -> AdequaError:
    """What to raise where a device is named that none of the metrics makes use of."""
    listed = ", ".join(metrics) or "files of scores"
    return AdequaError(
        f"--device goes with trained metrics, and there is none among these: {listed}."
    )


def whole_number(setting: str, value: str) -> int:
    """A setting as a whole number from 1 on."""
    if not value.isdecimal() or not int(value):
        raise AdequaError(f"{setting} must be a whole number from 1 on, not {value!r}.")
    return int(value)
