"""Scores of pair regressors that plans train; each is trained once, and kept for the next time.

A plan is a file of the folder `plans`, beside `results`. What it trains lies in the cache folder
under `trained`, with the checkpoints of a training that was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from adequa.agreement.evaluate import segment_scores
from adequa.agreement.sources import sources
from adequa.datasets.download import cache_folder
from adequa.errors import AdequaError
from adequa.io.atomic import check_new_folder, digest_of
from adequa.judgements import Judgements, RatedSystems, Ratings, identified
from adequa.learned.ensemble import Ensemble
from adequa.learned.pair.metric import PairRegressor
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.metrics.saved import DIGITS, is_saved, read_description
from adequa.progress import Progress
from adequa.reproduce.outputs import of_outputs
from adequa.reproduce.recipes import RECIPES
from adequa.reproduce.table import Scored, Scores
from adequa.reproduce.trained import fitted, left_out

if TYPE_CHECKING:
    from adequa.learned.pair.plan import Plan, SourcePlan

AnySource = TypeVar("AnySource", bound="SourcePlan")

PLANS = Path("plans")  # in the folder that the command is run in


@dataclass(frozen=True, slots=True)
class NamedPlan:
    """A plan of the folder of plans."""

    name: str
    plan: Plan
    digest: str  # sha256 of the file

    @classmethod
    def read(cls, name: str) -> NamedPlan:
        """The plan of this name, or a sentence on where it should be."""
        from adequa.learned.pair.plan import read_plan  # noqa: PLC0415  # needs pydantic, an extra

        path = _plan_path(name)
        if not path.is_file():
            raise AdequaError(
                f"There is no {path}, by which this row is trained; run `adequa reproduce` in a "
                "clone of the repository of adequa, which has the plans of its tables."
            )
        return cls(name, read_plan(path), digest_of(path))

    @property
    def path(self) -> Path:
        return _plan_path(self.name)

    def sources(self) -> Iterator[SourcePlan]:
        """All that it learns from, stage by stage."""
        for stage in self.plan.stage:
            yield from (stage, *stage.beside)

    def datasets(self, above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
        """Where data are named that it learns from, or chooses on, itself or through others."""
        if self.name in above:
            raise AdequaError(
                f"{self.path} begins with, or is taught by, what it makes itself; name another "
                "start or teacher."
            )
        learnt = (name for source in self.sources() for name in source.data)
        for dataset in (*learnt, *self.plan.development.data):
            yield str(self.path), dataset
        for name in self.others():
            yield from _datasets(name, (*above, self.name))

    def others(self) -> Iterator[str]:
        """What is trained before it: its start and its teachers, where they have such a name."""
        taught = (name for source in self.sources() for name in source.teacher)
        for name in dict.fromkeys([self.plan.start, *taught]):
            if name in RECIPES or _plan_path(name).is_file():
                yield name


def planned(*names: str, shares: tuple[float, ...] = ()) -> Scores:
    """How the metric scores a dataset that a plan trains; of several names, the mean of theirs.

    Names are those of plans, or of recipes where there is no plan. Shares are those of the mean.
    """

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        for name in names:
            _check_unseen(_datasets(name), judgements)
        folders = [_made(name, progress) for name in names]
        if len(folders) == 1:
            metric = load_metric(str(folders[0]))
            return _scored(metric, judgements, progress, _said(names[0], metric))
        together = Ensemble.of(list(map(str, folders)), shares=shares)
        said = "; ".join(map(_said, names, (part.metric for part in together.parts)))
        mean = f"the mean, in shares of {together.shares}," if shares else "the mean"
        return _scored(together, judgements, progress, f"{mean} of {said}")

    return scored


def _datasets(name: str, above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """All that is learnt from, or chosen on, to make what has this name; and where that stands."""
    if name in RECIPES:
        yield from ((name, dataset) for dataset in RECIPES[name].datasets)
    else:
        yield from NamedPlan.read(name).datasets(above)


def _made(name: str, progress: Progress) -> Path:
    """The folder of what a plan or a recipe trains; it is trained if it is not there yet."""
    folder = trained_folder() / name
    if name not in RECIPES:
        return _trained(NamedPlan.read(name), folder, progress)
    if not is_saved(str(folder)):
        check_new_folder(folder)
        fitted(RECIPES[name].made(), RECIPES[name].datasets, progress, f" ({name})").save(folder)
    return folder


def _said(name: str, metric: Metric) -> str:
    """What tells others how a metric was made."""
    if isinstance(metric, PairRegressor):
        return _settings(NamedPlan.read(name), metric)
    return f"{name}: {metric.signature(1)}"


def fine_tuned(first: str, second: str, others: tuple[str, ...]) -> Scores:
    """For each language pair: go on with all other ratings, score that pair (the SVR paper, §4.1).

    What the first plan trains is the start of the second for every pair, whose stage of ratings
    names no data. `others` are datasets that are learnt from whole, beside the other pairs of the
    table's own.
    """

    def scored(judgements: Judgements, progress: Progress) -> Scored:
        folds = list(left_out(judgements, others))
        begun, going_on = NamedPlan.read(first), NamedPlan.read(second)
        for named in (begun, going_on):
            _check_unseen(named.datasets(), judgements)
        _check_open(going_on)
        start = _made(first, progress)
        beginning = _loaded(start)
        weights, scores = {}, np.empty(sum(len(fold.tested) for fold in folds))
        for fold in folds:
            # Named by the weights of the start too: from another start comes another metric.
            name = f"{fold.pair}-{beginning.digest_[:DIGITS]}"
            place = trained_folder() / going_on.name / name
            folder = _trained(going_on, place, progress, start=start, given=fold.learnt)
            metric = _loaded(folder)
            scores[fold.rows] = _scored(metric, fold.tested, progress, "").scores
            weights[fold.pair] = metric.digest_[:DIGITS]
        settings = _settings(going_on, metric, weights)
        return Scored(scores, f"{_settings(begun, beginning)}; for each pair then {settings}")

    return scored


def trained_folder() -> Path:
    """Where the metrics are kept that plans trained."""
    return cache_folder() / "trained"


def _plan_path(name: str) -> Path:
    return PLANS / f"{name}.toml"


def _check_unseen(datasets: Iterator[tuple[str, str]], judgements: Judgements) -> None:
    """Raise where judgements of the year that is measured on are learnt from, or chosen on."""
    tested = identified(judgements).name
    for where, dataset in datasets:
        if _campaign(dataset) == _campaign(tested):
            raise AdequaError(
                f"{where} learns from {dataset}, and is to be measured on {tested}, of the same "
                "year; take it out of the plan."
            )


def _campaign(dataset: str) -> str:
    return Path(dataset).name.partition("-")[0]  # "wmt16" of wmt16-da and wmt16-rr


def _check_open(named: NamedPlan) -> None:
    """Raise where a plan has no place for the ratings that it is given."""
    if not any(s.objective == "ratings" and not s.data for s in named.sources()):
        raise AdequaError(
            f"{named.path} learns from the ratings of other language pairs than the tested one, "
            "which are given to it; leave out the data of its ratings."
        )


def _trained(
    named: NamedPlan,
    folder: Path,
    progress: Progress,
    *,
    start: Path | None = None,
    given: Ratings | None = None,
) -> Path:
    """The folder of a plan's metric; it is trained if it is not there yet.

    A start takes the place of the one that the plan names; what it and its teachers need is
    trained first.
    """
    if is_saved(str(folder)):
        _check_kept(named, folder)
        for name in named.others():  # what it was taught by has to be what their plans say, too
            other = trained_folder() / name
            if name not in RECIPES and is_saved(str(other)):
                _check_kept(NamedPlan.read(name), other)
        return folder
    check_new_folder(folder)
    followed = _with_others(named, start, progress)
    checkpoints = folder.with_name(f"{folder.name}.training")
    metric = PairRegressor(followed, checkpoints=checkpoints, name=named.name)
    told = _reported(progress, folder.relative_to(trained_folder()).as_posix())
    metric.fit(() if given is None else given, told)
    progress.status("")  # the figures of a training are no figures of what comes after it
    metric.plan = named.plan  # as the file has it, without a path of this machine
    metric.save(folder)
    return folder


def _with_others(named: NamedPlan, start: Path | None, progress: Progress) -> Plan:
    """The plan with folders in place of the names of what was trained for it."""
    begun = {named.plan.start: str(start)} if start is not None else {}
    places = begun | {
        name: str(_made(name, progress)) for name in named.others() if name not in begun
    }

    def taught(source: AnySource) -> AnySource:
        return replace(source, teacher=tuple(places.get(name, name) for name in source.teacher))

    stages = (replace(taught(s), beside=tuple(map(taught, s.beside))) for s in named.plan.stage)
    beginning = places.get(named.plan.start, named.plan.start)
    encoder = "" if beginning else named.plan.encoder
    return replace(named.plan, encoder=encoder, start=beginning, stage=tuple(stages))


def _reported(progress: Progress, name: str) -> Progress:
    """Where a training reports to: its name and step stand before how well it goes."""
    at = ""

    def advance(step: int, steps: int) -> None:
        nonlocal at
        at = f"step {step:,} of {steps:,}, "
        progress.step(step, steps)

    progress.status(f"training {name}")
    return Progress(
        stage=progress.stage,
        step=advance,
        scored=progress.scored,
        status=lambda how: progress.status(f"{name}: {at}{how}"),
    )


def _check_kept(named: NamedPlan, folder: Path) -> None:
    """Raise where a kept metric is not what the plan would train now."""
    from adequa.learned.pair.plan import plan_from  # noqa: PLC0415  # needs pydantic, an extra

    with suppress(AdequaError):  # what is kept there is no plan of this version
        kept = read_description(folder).settings.get("plan")
        if plan_from(kept or {}, str(folder)) == named.plan:
            return
    place = trained_folder() / folder.relative_to(trained_folder()).parts[0]
    raise AdequaError(
        f"{folder} was trained by another plan than {named.path} is now; delete {place} to train "
        "anew, or undo the change in the plan."
    )


def _loaded(folder: Path) -> PairRegressor:
    metric = load_metric(str(folder))
    if not isinstance(metric, PairRegressor):
        raise TypeError("only a pair regressor is saved with a plan")
    return metric


def _scored(metric: Metric, judgements: Judgements, progress: Progress, settings: str) -> Scored:
    """Scores of any kind of judgements."""
    if isinstance(judgements, RatedSystems):
        return replace(of_outputs(lambda: metric)(judgements, progress), settings=settings)
    return Scored(segment_scores(judgements, sources([metric]), progress)[0], settings)


def _settings(
    named: NamedPlan,
    metric: PairRegressor,
    weights: Mapping[str, str] | None = None,
) -> str:
    """What tells others how a metric was made; weights where there are several, by pair."""
    facts = metric.training_
    fields = {
        "plan": named.name,
        "sha256": named.digest[:DIGITS],
        "encoder": metric.encoder,
        "data": facts["data"],
        "seed": named.plan.seed,
        "references": metric.references,
        "chosen": ", ".join(f"{key} {value:g}" for key, value in facts["chosen"].items()),
        "trained_on": f"{facts['trained_on']}, {facts['precision']}",
        **dict(metric.learnt_fields()),
    }
    if weights is not None:
        fields["weights"] = ", ".join(f"{pair} {digest}" for pair, digest in weights.items())
    said = (f"{key}:{value}" for key, value in fields.items() if value != "")
    return "|".join([metric.kind, *said])
