"""Ensembles: the mean of the scores of several saved metrics is itself a metric.

Nothing is learnt; a part may count more or less than others, as it is told. The parts should speak
on one scale, as metrics do that were trained on the same ratings; where they do not, a blend learns
from ratings what each of them counts. All parts lie in the folder of the ensemble, so that it can
be moved as one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from adequa.errors import AdequaError, UnknownSettingError
from adequa.io.atomic import digest_of
from adequa.learned.base import LearnedMetric
from adequa.learned.packed.metric import PackedPair
from adequa.metrics import saved
from adequa.metrics.batched import batched_statistics
from adequa.metrics.contract import MeanMetric, Metric
from adequa.metrics.registry import in_full, load_metric
from adequa.remarks import Remark
from adequa.segments import FloatArray, Segments
from adequa.version import __version__

PARTS = "parts"  # the folder of the parts, which are numbered from 1
SETTINGS_DIGITS = 8  # of the digest of the parts' settings, as signatures show it
LINKED = 2**20  # bytes of a file from which on it is linked rather than copied


@dataclass(frozen=True, slots=True)
class Part:
    """One metric of an ensemble, and the folder that it was loaded from."""

    metric: LearnedMetric | Ensemble
    folder: Path
    digest: str  # sha256 of its metric.json, which speaks for its weights and settings
    settings: Mapping[str, str] = field(default_factory=dict)  # given to it beside those saved
    share: float = 1.0  # how much it counts beside the others

    def __post_init__(self) -> None:
        if not 0 < self.share < float("inf"):
            raise AdequaError(
                f"The share of {self.folder} must be a number above 0, not {self.share:g}."
            )

    @classmethod
    def of(cls, specification: str, share: float = 1.0) -> Part:
        """A part as it is named on the command line: a folder, and settings after a colon."""
        metric = _as_part(load_metric(specification), specification)
        folder = specification
        if not Path(specification).is_dir():
            folder = specification.partition(":")[0]
        place = Path(folder).resolve()
        written = in_full(specification)[len(str(place)) + 1 :]
        given = dict(each.split("=", 1) for each in written.split(",") if each)
        return cls(metric, place, digest_of(place / saved.DESCRIPTION), given, share)

    def learnt_from(self) -> tuple[str, ...]:
        """The names of the ratings that it was trained on."""
        if isinstance(self.metric, Ensemble):
            return self.metric.learnt_from()
        facts: object = self.metric.training_  # of metric.json, which may hold anything
        data = facts.get("data") if isinstance(facts, Mapping) else None
        return (str(data or "a file without a name"),)

    def facts(self) -> dict[str, Any]:
        """What the metric.json of the ensemble says of it."""
        return {
            "name": self.metric.name,
            "kind": self.metric.kind,
            "weights": self.metric.digest_,
            "settings": dict(self.settings),
            "share": self.share,
        }


@dataclass(eq=False)
class Ensemble(MeanMetric):
    """The mean of several saved metrics; `Ensemble.of` makes one from their folders."""

    parts: tuple[Part, ...]
    name: str = "ensemble"

    kind: ClassVar[str] = "ensemble"
    higher_is_better = True
    range = (-float("inf"), float("inf"))
    digest_: str = field(default="", init=False, repr=False)  # empty until saved or loaded

    def __post_init__(self) -> None:
        if not self.parts[1:]:
            raise AdequaError("An ensemble needs at least two metrics.")
        _refuse_twice(self.parts)
        metrics = [part.metric for part in self.parts]
        self.needs_whole_corpus = any(metric.needs_whole_corpus for metric in metrics)
        limits = [m.max_references for m in metrics if m.max_references is not None]
        self.max_references = min(limits, default=None)
        self.columns = tuple(dict.fromkeys(name for metric in metrics for name in metric.columns))

    @classmethod
    def of(
        cls, metrics: Sequence[str], name: str = "ensemble", shares: Sequence[float] = ()
    ) -> Ensemble:
        """The ensemble of saved metrics, each named as on the command line; shares count for it.

        Without shares, all count the same.
        """
        shares = shares or [1.0] * len(metrics)
        if len(shares) != len(metrics):
            raise AdequaError(
                f"An ensemble of {len(metrics)} metrics takes as many shares, not {len(shares)}; "
                "give one for each, or none."
            )
        return cls(tuple(map(Part.of, metrics, shares)), name)

    def score_segments(self, segments: Segments) -> FloatArray:
        total = np.zeros(len(segments))
        for part in self.parts:
            # In batches, also where another part makes this corpus come as a whole.
            found = batched_statistics(part.metric, segments, lambda _: None)
            total += part.share * part.metric.segment_scores(found)
        return total / sum(part.share for part in self.parts)

    def noticed(self) -> tuple[Remark, ...]:
        # Parts with one encoder say the same of it.
        return tuple(dict.fromkeys(r for part in self.parts for r in part.metric.noticed()))

    def learnt_from(self) -> tuple[str, ...]:
        """The names of all ratings that a part was trained on."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.learnt_from()))

    @property
    def shares(self) -> str:
        """How much each part counts, as signatures and reports show it."""
        return ",".join(f"{part.share:.12g}" for part in self.parts)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        metrics = [part.metric for part in self.parts]
        return (
            ("parts", ",".join(metric.name for metric in metrics)),
            *((("shares", self.shares),) if len({part.share for part in self.parts}) > 1 else ()),
            ("settings", _settings_digest(metrics)),
            ("weights", ".".join(metric.digest_[: saved.DIGITS] for metric in metrics)),
            ("version", __version__),
        )

    def save(self, folder: str | Path) -> Ensemble:
        """Write the ensemble with all its parts to a new folder; returns the ensemble itself."""
        target = Path(folder)
        for part in self.parts:
            if part.folder in (target.resolve(), *target.resolve().parents):
                raise AdequaError(
                    f"{target} lies in {part.folder}, which is a part of it; give a name outside."
                )
        described = saved.Description(
            kind=self.kind,
            name=self.name,
            settings={"parts": [part.facts() for part in self.parts]},
        )
        self.digest_ = saved.save(target, described, {}, _card(self), self._write_parts).identity
        return self

    def _write_parts(self, folder: Path) -> dict[str, str]:
        """Put the parts into the folder; returns the digests of their descriptions."""
        (folder / PARTS).mkdir()
        for number, part in enumerate(self.parts, 1):
            _place_folder(part.folder, folder / _place(number))
            if digest_of(folder / _description(number)) != part.digest:
                raise AdequaError(
                    f"{part.folder} has changed since it was loaded; make the ensemble again."
                )
        return {_description(number): part.digest for number, part in enumerate(self.parts, 1)}

    @classmethod
    def load(
        cls,
        description: saved.Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> Ensemble:
        """The ensemble of a folder.

        Each setting goes to all parts that know it; `part1.NAME` is for the first part alone.
        """
        del arrays  # there are none
        facts = description.settings["parts"]
        if {_description(number) for number, _ in enumerate(facts, 1)} != {*description.files}:
            raise ValueError("there is not one digest a part")
        offered = _Offered.of(settings, len(facts))
        parts, refusals = [], []
        for number, fact in enumerate(facts, 1):
            place, digest = folder / _place(number), description.files[_description(number)]
            kept = dict(fact["settings"])
            try:
                metric, refused = _load_part(place, offered.to_part(number, kept), offered.to_all)
            except AdequaError as error:
                raise AdequaError(
                    f"Part {number} of {folder} cannot be loaded; settings for it alone are "
                    f"written -m {folder}:part{number}.NAME=VALUE. The reason: {error}"
                ) from error
            parts.append(Part(metric, place.resolve(), digest, kept, float(fact.get("share", 1.0))))
            refusals.append(refused)
        _check_taken(folder, offered.to_all, refusals)
        ensemble = cls(tuple(parts), description.name)
        ensemble.digest_ = description.identity
        return ensemble


@dataclass(frozen=True, slots=True)
class _Offered:
    """Settings that a user gives to an ensemble, on their way to its parts."""

    to_all: Mapping[str, str]
    to_one: Mapping[int, Mapping[str, str]]  # by the number of the part

    @classmethod
    def of(cls, settings: Mapping[str, str], count: int) -> _Offered:
        to_all: dict[str, str] = {}
        to_one: dict[int, dict[str, str]] = {number: {} for number in range(1, count + 1)}
        by_prefix = {f"part{number}": given for number, given in to_one.items()}
        for key, value in settings.items():
            first, dot, rest = key.partition(".")
            if dot and first in by_prefix:
                by_prefix[first][rest] = value
            else:
                to_all[key] = value
        return cls(to_all, to_one)

    def to_part(self, number: int, kept: Mapping[str, str]) -> dict[str, str]:
        """The settings of one part: what is given wins over what was kept, the closer the more."""
        # What was kept may be for a part of the part: "part2.encoder".
        still = {key: kept[key] for key in kept if key.rpartition(".")[2] not in self.to_all}
        return {**still, **self.to_all, **self.to_one[number]}


def _load_part(
    place: Path, settings: Mapping[str, str], optional: Mapping[str, str]
) -> tuple[LearnedMetric | Ensemble, dict[str, str]]:
    """A part with those of the optional settings that it knows; of others, what it said.

    Which settings a metric knows depends on what was saved, so that only loading it can tell.
    """
    try:
        return _as_part(saved.load(str(place), settings), str(place)), {}
    except UnknownSettingError as error:
        if error.where != str(place) or error.key not in optional:
            raise
        fewer = {name: value for name, value in settings.items() if name != error.key}
        metric, refused = _load_part(place, fewer, optional)
        return metric, {error.key: str(error), **refused}


def _check_taken(
    folder: Path, offered: Mapping[str, str], refusals: Sequence[Mapping[str, str]]
) -> None:
    """Raise where there is a setting that no part knows."""
    for key in offered:
        if all(key in refused for refused in refusals):
            raise UnknownSettingError(
                f'{folder} has no setting named "{key}". It passes settings on to its parts, and '
                f"none of them knows it. {refusals[0][key]}",
                str(folder),
                key,
            )


def _as_part(metric: Metric, specification: str) -> LearnedMetric | Ensemble:
    """The metric, if scores of it can be averaged with others."""
    if isinstance(metric, PackedPair):
        raise AdequaError(
            f"{specification} is a packed metric, whose scores lie from 0 to 1 and not on the "
            "scale of ratings; name the metric that it was packed from, or use `adequa train "
            "blend`, which learns to put any metrics together."
        )
    if not isinstance(metric, LearnedMetric | Ensemble):
        raise AdequaError(
            f"{specification} is no saved metric, and an ensemble is made of saved metrics on one "
            "scale; `adequa train blend` learns to put any metrics together."
        )
    if not metric.higher_is_better:
        # Turned round, its scores would still not be on the scale of the others.
        raise AdequaError(
            f"{specification} gives lower scores to better translations, so that a mean with "
            "metrics that give higher ones says nothing; leave it out."
        )
    return metric


def _refuse_twice(parts: Sequence[Part]) -> None:
    seen: dict[str, Part] = {}
    for part in parts:
        first = seen.setdefault(part.digest, part)
        if first is not part:
            again = (
                "is named twice" if first.folder == part.folder else f"and {part.folder} are one"
            )
            raise AdequaError(f"{first.folder} {again}; an ensemble takes a metric once.")


def _place(number: int) -> str:
    """Of a part, in the folder of the ensemble."""
    return f"{PARTS}/{number}"


def _description(number: int) -> str:
    return f"{_place(number)}/{saved.DESCRIPTION}"


def _place_folder(source: Path, target: Path, above: frozenset[Path] = frozenset()) -> None:
    """Make a folder with the content of another; links are followed, so that it can be moved."""
    real = source.resolve()
    if real in above:
        raise AdequaError(f"{source} is a link to a folder that it lies in; remove it.")
    target.mkdir()
    for path in sorted(source.iterdir()):
        if path.is_dir():
            _place_folder(path, target / path.name, above | {real})
        elif path.is_file():
            _place_file(path.resolve(), target / path.name)
        else:
            raise AdequaError(f"{path} is neither a file nor a folder; remove it.")


def _place_file(source: Path, target: Path) -> None:
    """Weights are linked where the file system can, to save space; what people edit is copied.

    A link is another name of the same content, which stays when the first name goes. Metrics are
    never written over in place, and should someone do so, the digest tells when one is loaded.
    """
    try:
        if source.stat().st_size >= LINKED:
            with suppress(OSError):  # another disk, or one without links
                os.link(source, target)
                return
        shutil.copyfile(source, target)
    except OSError as error:
        raise AdequaError(f"{source} cannot be copied: {error.strerror or error}.") from error


def _settings_digest(metrics: Sequence[Metric]) -> str:
    """Of what the parts' signatures say beside weights and versions."""
    left_out = ("weights", "version")
    said = [[pair for pair in m.signature_fields() if pair[0] not in left_out] for m in metrics]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:SETTINGS_DIGITS]


def _card(ensemble: Ensemble) -> str:
    """The text for people, in Markdown."""
    rows = [
        f"| {number} | {part.metric.name} | {part.metric.kind} | {_cell(part)} | {part.share:g} |"
        for number, part in enumerate(ensemble.parts, 1)
    ]
    head = ["| part | name | kind | learnt from | share |", "| ---: | --- | --- | --- | ---: |"]
    table = "\n".join([*head, *rows])
    return (
        f"# {ensemble.name}\n\n"
        f"The mean of the scores of {len(rows)} metrics. Made with adequa {__version__}.\n\n"
        "## Use\n\n```sh\nadequa score -m FOLDER -t hypotheses.txt -r references.txt\n```\n\n"
        "Higher is better. Settings go to all parts that know them: `-m FOLDER:device=cpu`; "
        "`-m FOLDER:part1.encoder=PATH` is for the first part alone.\n\n"
        f"## Parts\n\nIn the folder `{PARTS}`, each with a card of its own.\n\n{table}\n"
    )


def _cell(part: Part) -> str:
    """What a part learnt from, in a table where a bar would begin the next cell."""
    return "; ".join(part.learnt_from()).replace("|", r"\|")
