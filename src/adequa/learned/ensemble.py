"""Ensembles: a metric whose score is the weighted mean of the scores of saved metrics.

Nothing is trained: the weights, called shares, are given. The parts should score on one scale, as
metrics do that were trained on the same ratings; where they do not, a blend learns from ratings how
to weight them. All parts are in the folder of the ensemble, so that it can be moved as a whole.

`average_metrics` takes the mean of weights instead of scores (Wortsman et al., 2022, "Model
soups"): networks that were fine-tuned from one encoder are often so close that the mean of their
weights works, and scores about as well as the mean of their scores at the cost of one network.
Where they are not close, it is useless: measure it.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adequa.errors import AdequaError, UnknownSettingError
from adequa.io.atomic import digest_of
from adequa.learned.base import LearnedMetric
from adequa.learned.cards import as_markdown, model_card, score_command, shell
from adequa.learned.packed.metric import PackedPair
from adequa.learned.results import TrainingResult, score_verb
from adequa.metrics import saved
from adequa.metrics.base import Metric, Remark, batched_statistics, combined_reads
from adequa.metrics.registry import DESCRIPTION, load_metric, with_absolute_paths
from adequa.segments import ENVIRONMENT_FIELDS, FloatArray, Segments
from adequa.tables import Column, Table
from adequa.version import __version__

if TYPE_CHECKING:
    import torch

    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.network import PairModel


PARTS = "parts"  # the folder of the parts, which are numbered from 1
SETTINGS_DIGITS = 8  # of the digest of the parts' settings, as signatures show it


@dataclass(frozen=True, slots=True)
class Part:
    """One metric of an ensemble, and the folder that it was loaded from."""

    metric: LearnedMetric | Ensemble
    folder: Path
    digest: str  # sha256 of its metric.json, which has the digests of its weights
    settings: Mapping[str, str] = field(default_factory=dict)  # beside the saved ones
    share: float = 1.0  # its weight in the mean

    def __post_init__(self) -> None:
        _check_share(str(self.folder), self.share)

    @classmethod
    def of(cls, specification: str, share: float = 1.0) -> Part:
        """Load a part, named as on the command line: a folder, and settings after a colon."""
        metric = _as_part(load_metric(specification), specification)
        is_folder = Path(specification).is_dir()
        name = specification if is_folder else specification.partition(":")[0]
        folder = Path(name).resolve()
        listed = with_absolute_paths(specification)[len(str(folder)) + 1 :]
        settings = dict(each.split("=", 1) for each in listed.split(",") if each)
        return cls(metric, folder, digest_of(folder / DESCRIPTION), settings, share)

    def training_data(self) -> tuple[str, ...]:
        """Return the names of the judgements that it was trained on."""
        if isinstance(self.metric, Ensemble):
            return self.metric.training_data()
        return (str(self.metric.training_.get("data") or "a file without a name"),)

    def facts(self) -> dict[str, Any]:
        """Return what the metric.json of the ensemble holds of it."""
        return {
            "name": self.metric.name,
            "kind": self.metric.kind,
            "weights": self.metric.digest_,
            "settings": dict(self.settings),
            "share": self.share,
        }


@dataclass(eq=False)
class Ensemble(saved.SavedMetric):
    """The weighted mean of saved metrics; `Ensemble.of` makes one from their folders."""

    parts: tuple[Part, ...]
    name: str = "ensemble"

    kind: ClassVar[str] = "ensemble"
    higher_is_better = True
    range = (-float("inf"), float("inf"))
    digest_: str = field(default="", init=False, repr=False)  # empty until saved or loaded

    def __post_init__(self) -> None:
        if not self.parts[1:]:
            raise AdequaError("An ensemble needs at least two metrics.")
        _check_distinct(self.parts)
        metrics = [part.metric for part in self.parts]
        self.reads = combined_reads(metrics)
        self.needs_whole_corpus = any(metric.needs_whole_corpus for metric in metrics)
        limits = [m.max_references for m in metrics if m.max_references is not None]
        self.max_references = min(limits, default=None)
        self.columns = tuple(dict.fromkeys(name for metric in metrics for name in metric.columns))

    @classmethod
    def of(
        cls, metrics: Sequence[str], name: str = "ensemble", shares: Sequence[float] = ()
    ) -> Ensemble:
        """Return the ensemble of saved metrics, each named as on the command line.

        `shares` are their weights in the mean; without them, all count the same.
        """
        shares = shares or [1.0] * len(metrics)
        if len(shares) != len(metrics):
            raise AdequaError(
                f"An ensemble of {len(metrics)} metrics takes as many shares, not {len(shares)}; "
                "give one for each, or none."
            )
        return cls(tuple(map(Part.of, metrics, shares)), name)

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        total = np.zeros(len(segments))
        for part in self.parts:
            # In batches, also where another part needs the whole corpus at once.
            statistics = batched_statistics(part.metric, segments, lambda _: None)
            total += part.share * part.metric.segment_scores(statistics)
        return total / sum(part.share for part in self.parts)

    def counted_remarks(self) -> tuple[Remark, ...]:
        # Parts with the same encoder make the same remarks.
        return tuple(dict.fromkeys(r for part in self.parts for r in part.metric.counted_remarks()))

    def training_data(self) -> tuple[str, ...]:
        """Return the names of all judgements that a part was trained on."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.training_data()))

    @property
    def shares(self) -> str:
        """The weight of each part, as signatures and reports show it."""
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

    def training_result(self, folder: str | Path = "") -> TrainingResult:
        """Return the parts as a table; with the folder of the ensemble, how to use it."""
        parts = _parts_table(self)
        title = f"{self.name}: the mean of the scores of {len(self.parts)} metrics"
        return TrainingResult(
            name=self.name,
            kind=self.kind,
            readable=(replace(parts, title=title),),
            figures=parts,
            facts={"parts": [part.facts() for part in self.parts]},
            folder=str(folder),
            verb=score_verb(self),
        )

    def save(self, folder: str | Path) -> Ensemble:
        """Write the ensemble with all its parts to a new folder; return the ensemble itself."""
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
        """Write the parts to the folder; return the digests of their descriptions."""
        for number, part in enumerate(self.parts, 1):
            shutil.copytree(part.folder, folder / _part_folder(number))
        return {_description(number): part.digest for number, part in enumerate(self.parts, 1)}

    @classmethod
    def from_saved(
        cls,
        description: saved.Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> Ensemble:
        """Return the ensemble of a folder.

        Each setting goes to all parts that know it; `part1.NAME` is for the first part alone.
        """
        del arrays  # there are none
        facts = description.settings["parts"]
        prefixes = tuple(f"part{number}." for number in range(1, len(facts) + 1))
        common = {key: value for key, value in settings.items() if not key.startswith(prefixes)}
        parts, refusals = [], []
        for number, (fact, prefix) in enumerate(zip(facts, prefixes, strict=True), 1):
            path = folder / _part_folder(number)
            own = {key: value for key, value in fact["settings"].items() if key not in common}
            own |= {
                key.removeprefix(prefix): value
                for key, value in settings.items()
                if key.startswith(prefix)
            }
            try:
                metric, refused = _load_part(str(path), own, common)
            except AdequaError as error:
                raise AdequaError(
                    f"Part {number} of {folder} cannot be loaded; settings for it alone are "
                    f"written -m {folder}:{prefix}NAME=VALUE. The reason: {error}"
                ) from error
            digest = description.files[_description(number)]
            share = float(fact.get("share", 1.0))
            parts.append(Part(metric, path.resolve(), digest, dict(fact["settings"]), share))
            refusals.append(refused)
        for key in common:
            if all(key in refused for refused in refusals):
                raise UnknownSettingError(
                    f'{folder} has no setting named "{key}". It passes settings on to its parts, '
                    f"and none of them knows it. {refusals[0][key]}",
                    str(folder),
                    key,
                )
        ensemble = cls(tuple(parts), description.name)
        ensemble.digest_ = description.identity
        return ensemble


def _load_part(
    folder: str, own: Mapping[str, str], common: Mapping[str, str]
) -> tuple[LearnedMetric | Ensemble, dict[str, str]]:
    """Return a part with the common settings that it knows, and its errors about the others.

    Which settings a metric knows depends on what was saved: only loading it shows them.
    """
    refused: dict[str, str] = {}
    while True:
        known = {key: value for key, value in common.items() if key not in refused}
        try:
            return _as_part(saved.load(folder, {**known, **own}), folder), refused
        except UnknownSettingError as error:
            if error.key not in known or error.key in own:
                raise
            refused[error.key] = str(error)


def _as_part(metric: Metric, specification: str) -> LearnedMetric | Ensemble:
    """Return the metric; raise where its scores cannot be averaged with others."""
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


def _check_distinct(parts: Sequence[Part]) -> None:
    seen: dict[str, Part] = {}
    for part in parts:
        first = seen.setdefault(part.digest, part)
        if first is not part:
            again = (
                "is named twice" if first.folder == part.folder else f"and {part.folder} are one"
            )
            raise AdequaError(f"{first.folder} {again}; an ensemble takes a metric once.")


def _part_folder(number: int) -> str:
    """Return the path of a part in the folder of the ensemble."""
    return f"{PARTS}/{number}"


def _description(number: int) -> str:
    return f"{_part_folder(number)}/{DESCRIPTION}"


def _settings_digest(metrics: Sequence[Metric]) -> str:
    """Return a digest of the parts' signature fields beside weights and versions."""
    excluded = {"weights", *ENVIRONMENT_FIELDS}
    fields = [[pair for pair in m.signature_fields() if pair[0] not in excluded] for m in metrics]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:SETTINGS_DIGITS]


def _parts_table(ensemble: Ensemble) -> Table:
    columns = (
        Column("part", "integer"),
        Column("name"),
        Column("kind"),
        Column("trained on"),
        Column("share", "number"),
    )
    rows = [
        (n, p.metric.name, p.metric.kind, "; ".join(p.training_data()), f"{p.share:g}")
        for n, p in enumerate(ensemble.parts, 1)
    ]
    return Table(columns, rows)


def _card(ensemble: Ensemble) -> str:
    return model_card(
        ensemble.name,
        f"The mean of the scores of {len(ensemble.parts)} metrics. Made with adequa {__version__}.",
        {
            "Use": [
                shell(score_command(ensemble)),
                "Higher is better. Settings go to all parts that know them: "
                "`-m FOLDER:device=cpu`; `-m FOLDER:part1.encoder=PATH` is for the first part "
                "alone.",
            ],
            "Parts": [
                f"In the folder `{PARTS}`, each with its own card.",
                as_markdown(_parts_table(ensemble)),
            ],
        },
    )


def average_metrics(
    metrics: Sequence[PairRegressor], name: str, shares: Sequence[float] = ()
) -> PairRegressor:
    """A metric whose weights are the means of the weights of these metrics.

    `shares` say how much each metric counts; without them, all count the same.
    """
    from adequa.learned.pair.metric import PairRegressor  # noqa: PLC0415  # heavy

    _check_averageable(metrics)
    shares = shares or [1.0] * len(metrics)
    if len(shares) != len(metrics):
        raise AdequaError(
            f"A mean of {len(metrics)} metrics takes as many shares, not {len(shares)}; give one "
            "for each."
        )
    for metric, share in zip(metrics, shares, strict=True):
        _check_share(metric.name, share)
    last = metrics[-1]
    average = PairRegressor(plan=last.plan, name=name)
    average.encoder_, average.references_ = last.encoder, last.references
    average.set_inputs(last.inputs)
    average.model_ = copy.deepcopy(last.model_)
    average.model_.truncated = 0
    average.model_.max_length = min(metric.model_.max_length for metric in metrics)
    average.model_.network.load_state_dict(
        _mean_state([metric.model_.network.state_dict() for metric in metrics], shares)
    )
    average.training_ = _training_facts(metrics, shares)
    average.agreement_ = {"held_out": {}}
    return average


def _mean_state(
    states: Sequence[Mapping[str, torch.Tensor]], shares: Sequence[float]
) -> dict[str, torch.Tensor]:
    """The mean of each tensor; integer tensors, which are no weights, are those of the last."""
    import torch  # noqa: PLC0415  # heavy

    def mean(key: str, last: torch.Tensor) -> torch.Tensor:
        parts = [state[key].to(last.device, torch.float64) for state in states]
        total = torch.stack([share * part for share, part in zip(shares, parts, strict=True)])
        return (total.sum(0) / sum(shares)).to(last.dtype)

    return {
        key: mean(key, last) if last.is_floating_point() else last
        for key, last in states[-1].items()
    }


def _check_share(name: str, share: float) -> None:
    """Raise if a share is no number above 0."""
    if not 0 < share < float("inf"):
        raise AdequaError(f"The share of {name} must be a number above 0, not {share:g}.")


def _check_averageable(metrics: Sequence[PairRegressor]) -> None:
    """Raise if the mean of the weights makes no sense."""
    if not metrics[1:]:
        raise AdequaError("A mean of weights needs at least two pair regressors.")
    digests = [metric.digest_ for metric in metrics]
    for index, metric in enumerate(metrics):
        if metric.digest_ and metric.digest_ in digests[:index]:
            raise AdequaError(f"{metric.name} is there twice: the same weights count once.")
    first, *others = metrics
    expected = dict(_properties(first))
    for other in others:
        for key, value in _properties(other):
            if value != expected[key]:
                raise AdequaError(
                    f"The weights of {first.name} and {other.name} have no mean: their {key} "
                    "differ."
                )


def _properties(metric: PairRegressor) -> Iterator[tuple[str, object]]:
    """The properties that all metrics must share."""
    model: PairModel = metric.model_
    yield "pretrained encoders", metric.encoder
    yield "heads", asdict(model.head)
    yield "weights", {key: tuple(v.shape) for key, v in model.network.state_dict().items()}
    yield "vocabularies", model.tokenizer.get_vocab()
    yield "treatments of capitals", model.lowercase
    yield "choices among several references", metric.references
    yield "inputs", metric.inputs


def _training_facts(metrics: Sequence[PairRegressor], shares: Sequence[float]) -> dict[str, Any]:
    """Facts for metric.json: those of every metric, and the largest counts of rows and pairs.

    The metrics may share training data, which should not count twice.
    """
    facts = [metric.training_ for metric in metrics]
    return {
        "data": " + ".join(
            dict.fromkeys(name for each in facts for name in each["data"].split(" + "))
        ),
        "rows": max(each["rows"] for each in facts),
        "stages": [],
        "averaged": [
            {
                "name": metric.name,
                "digest": metric.digest_,
                "plan": metric.plan.table(),
                "training": dict(metric.training_),
                **({"share": share} if len(set(shares)) > 1 else {}),
            }
            for metric, share in zip(metrics, shares, strict=True)
        ],
        "pairs": max(each["pairs"] for each in facts),
        "history": [],
    }
