"""Scorers of pair regressors that plans train; each is trained once and stored for the next time.

A plan is a file of the folder `plans`, beside `results`. Its metric is stored in the cache folder
under `trained`, with the checkpoints of a training that was interrupted.
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
from adequa.errors import AdequaError
from adequa.io.atomic import check_new_folder, digest_of
from adequa.io.storage import cache_folder
from adequa.judgements import Judgements, RatedSystems, Ratings, identified
from adequa.learned.ensemble import Ensemble
from adequa.learned.pair.metric import PairRegressor
from adequa.metrics.base import Metric
from adequa.metrics.registry import load_metric
from adequa.metrics.saved import DIGITS, is_saved, read_description
from adequa.progress import Progress
from adequa.reproduce.paper_table import PaperRow, RowScores, Scorer
from adequa.reproduce.scorers import RECIPES, fit_on, language_pair_folds, system_scorer

if TYPE_CHECKING:
    from adequa.learned.pair.plan import Plan, SourcePlan

AnySource = TypeVar("AnySource", bound="SourcePlan")

PLANS = Path("plans")  # in the folder that the command is run in


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan of the folder of plans."""

    name: str
    plan: Plan
    digest: str  # sha256 of the file

    @classmethod
    def read(cls, name: str) -> PlanFile:
        """The plan of this name, or an error that says where it should be."""
        from adequa.learned.pair.plan import Plan  # noqa: PLC0415  # needs pydantic, an extra

        path = _plan_path(name)
        if not path.is_file():
            raise AdequaError(
                f"There is no {path}, by which this row is trained; run `adequa reproduce` in a "
                "clone of the repository of adequa, which has the plans of its tables."
            )
        return cls(name, Plan.load(path), digest_of(path))

    @property
    def path(self) -> Path:
        return _plan_path(self.name)

    def sources(self) -> Iterator[SourcePlan]:
        """Everything it trains on, stage by stage."""
        for stage in self.plan.stage:
            yield from (stage, *stage.beside)

    def datasets(self, ancestors: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
        """Datasets that it, its start and its teachers train or choose on, with their origin."""
        if self.name in ancestors:
            raise AdequaError(
                f"{self.path} begins with, or is taught by, what it makes itself; name another "
                "start or teacher."
            )
        training = (name for source in self.sources() for name in source.data)
        for dataset in (*training, *self.plan.development.data):
            yield str(self.path), dataset
        for name in self.dependencies():
            yield from _datasets(name, (*ancestors, self.name))

    def dependencies(self) -> Iterator[str]:
        """Plans and recipes that are trained before it: its start and its teachers."""
        teachers = (name for source in self.sources() for name in source.teacher)
        for name in dict.fromkeys([self.plan.start, *teachers]):
            if name in RECIPES or _plan_path(name).is_file():
                yield name


def trained_by_plan(*names: str, shares: tuple[float, ...] = ()) -> Scorer:
    """Scores with the metric that a plan trains; with the weighted mean for more than one name.

    Names are those of plans or recipes.
    """

    def score(judgements: Judgements, progress: Progress) -> RowScores:
        for name in names:
            _check_unseen(_datasets(name), judgements)
        folders = [_metric_folder(name, progress) for name in names]
        if len(folders) == 1:
            metric = load_metric(str(folders[0]))
            return _score(metric, judgements, progress, _metric_settings(names[0], metric))
        ensemble = Ensemble.of(list(map(str, folders)), shares=shares)
        parts = "; ".join(map(_metric_settings, names, (part.metric for part in ensemble.parts)))
        mean = f"the mean, in shares of {ensemble.shares}," if shares else "the mean"
        return _score(ensemble, judgements, progress, f"{mean} of {parts}")

    return score


PREFERENCES = PaperRow(
    "pair-mpnet-preferences-ratings",
    "pair regressor, mpnet: preferences + ratings",
    trained_by_plan("preferences-ratings-3"),
    cost="gpu",
)
DISTILLED = PaperRow(
    "pair-mpnet-distilled",
    "pair regressor, mpnet: distilled",
    trained_by_plan("distilled"),
    cost="gpu",
)
ENSEMBLE = PaperRow(
    "pair-mpnet-ensemble",
    "pair regressor, mpnet: distilled, with SVR",
    trained_by_plan("distilled", "svr-mpnet-layers", shares=(1.0, 0.15)),
    cost="gpu",
)


def fine_tuned_by_pair(first: str, second: str, others: tuple[str, ...]) -> Scorer:
    """For each language pair: train on all other ratings, score that pair (the SVR paper, §4.1).

    The metric of the first plan is the start of the second for every pair, whose stage of ratings
    names no data. The datasets `others` are trained on whole, beside the other pairs of the
    table's own.
    """

    def score(judgements: Judgements, progress: Progress) -> RowScores:
        folds = list(language_pair_folds(judgements, others))
        first_plan, second_plan = PlanFile.read(first), PlanFile.read(second)
        for plan in (first_plan, second_plan):
            _check_unseen(plan.datasets(), judgements)
        _check_takes_ratings(second_plan)
        start = _metric_folder(first, progress)
        initial = _load_pair_regressor(start)
        weights, scores = {}, np.empty(sum(len(fold.test) for fold in folds))
        for fold in folds:
            # The digest of the start is part of the name: another start gives another metric.
            name = f"{fold.pair}-{initial.digest_[:DIGITS]}"
            folder = trained_folder() / second_plan.name / name
            _train(second_plan, folder, progress, start=start, ratings=fold.train)
            metric = _load_pair_regressor(folder)
            scores[fold.rows] = _score(metric, fold.test, progress, "").scores
            weights[fold.pair] = metric.digest_[:DIGITS]
        settings = _plan_settings(second_plan, metric, weights)
        return RowScores(
            scores, f"{_plan_settings(first_plan, initial)}; for each pair then {settings}"
        )

    return score


def trained_folder() -> Path:
    """The folder of metrics that plans trained."""
    return cache_folder() / "trained"


def _plan_path(name: str) -> Path:
    return PLANS / f"{name}.toml"


def _datasets(name: str, ancestors: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Datasets that the metric of a plan or recipe is trained or chosen on, with their origin."""
    if name in RECIPES:
        yield from ((name, dataset) for dataset in RECIPES[name].datasets)
    else:
        yield from PlanFile.read(name).datasets(ancestors)


def _check_unseen(datasets: Iterator[tuple[str, str]], judgements: Judgements) -> None:
    """Raise where judgements of the year of the test set are trained or chosen on."""
    test = identified(judgements).name
    for origin, dataset in datasets:
        if _campaign(dataset) == _campaign(test):
            raise AdequaError(
                f"{origin} learns from {dataset}, and is to be measured on {test}, of the same "
                "year; take it out of the plan."
            )


def _campaign(dataset: str) -> str:
    return Path(dataset).name.partition("-")[0]  # "wmt16" of wmt16-da and wmt16-rr


def _check_takes_ratings(file: PlanFile) -> None:
    """Raise where a plan has no stage for the ratings that it gets."""
    if not any(s.objective == "ratings" and not s.data for s in file.sources()):
        raise AdequaError(
            f"{file.path} learns from the ratings of other language pairs than the tested one, "
            "which are given to it; leave out the data of its ratings."
        )


def _metric_folder(name: str, progress: Progress) -> Path:
    """The folder of the metric of a plan or recipe, which is trained if it does not exist."""
    folder = trained_folder() / name
    if name not in RECIPES:
        _train(PlanFile.read(name), folder, progress)
    elif not is_saved(str(folder)):
        check_new_folder(folder)
        recipe = RECIPES[name]
        fit_on(recipe.create(), recipe.datasets, progress, f" ({name})").save(folder)
    return folder


def _train(
    file: PlanFile,
    folder: Path,
    progress: Progress,
    *,
    start: Path | None = None,
    ratings: Ratings | None = None,
) -> None:
    """Train the metric of a plan into a folder, unless it is there already.

    `start` replaces the start that the plan names. The metrics that the plan depends on are
    trained first.
    """
    if is_saved(str(folder)):
        _check_current(file, folder)
        for name in file.dependencies():
            dependency = trained_folder() / name
            if name not in RECIPES and is_saved(str(dependency)):
                _check_current(PlanFile.read(name), dependency)
        return
    check_new_folder(folder)
    plan = _with_folders(file, start, progress)
    checkpoints = folder.with_name(f"{folder.name}.training")
    metric = PairRegressor(plan, checkpoints=checkpoints, name=file.name)
    training = _plan_progress(progress, folder.relative_to(trained_folder()).as_posix())
    metric.fit(() if ratings is None else ratings, training)
    progress.status("")  # the last loss says nothing about the scoring that follows
    metric.plan = file.plan  # as the file has it, without a path of this machine
    metric.save(folder)


def _with_folders(file: PlanFile, start: Path | None, progress: Progress) -> Plan:
    """The plan with folders in place of the names of plans and recipes."""
    folders = {} if start is None else {file.plan.start: str(start)}
    folders |= {
        name: str(_metric_folder(name, progress))
        for name in file.dependencies()
        if name not in folders
    }

    def with_teacher(source: AnySource) -> AnySource:
        return replace(source, teacher=tuple(folders.get(name, name) for name in source.teacher))

    stages = tuple(
        replace(with_teacher(stage), beside=tuple(map(with_teacher, stage.beside)))
        for stage in file.plan.stage
    )
    initial = folders.get(file.plan.start, file.plan.start)
    encoder = "" if initial else file.plan.encoder
    return replace(file.plan, encoder=encoder, start=initial, stage=stages)


def _plan_progress(progress: Progress, name: str) -> Progress:
    """Progress of a training that shows its name and step in front of its status."""
    step_text = ""

    def show_step(step: int, steps: int) -> None:
        nonlocal step_text
        step_text = f"step {step:,} of {steps:,}, "
        progress.step(step, steps)

    progress.status(f"training {name}")
    return replace(
        progress,
        step=show_step,
        status=lambda status: progress.status(f"{name}: {step_text}{status}"),
    )


def _check_current(file: PlanFile, folder: Path) -> None:
    """Raise where a stored metric is not what the plan would train now."""
    from adequa.learned.pair.plan import plan_from  # noqa: PLC0415  # needs pydantic, an extra

    with suppress(AdequaError):  # the folder has no plan of this version
        stored = read_description(folder).settings.get("plan")
        if plan_from(stored or {}, str(folder)) == file.plan:
            return
    outdated = trained_folder() / folder.relative_to(trained_folder()).parts[0]
    raise AdequaError(
        f"{folder} was trained by another plan than {file.path} is now; delete {outdated} to train "
        "anew, or undo the change in the plan."
    )


def _load_pair_regressor(folder: Path) -> PairRegressor:
    metric = load_metric(str(folder))
    if not isinstance(metric, PairRegressor):
        raise TypeError("only a pair regressor is saved with a plan")
    return metric


def _score(metric: Metric, judgements: Judgements, progress: Progress, settings: str) -> RowScores:
    """Score judgements of any kind."""
    if isinstance(judgements, RatedSystems):
        return replace(system_scorer(lambda: metric)(judgements, progress), settings=settings)
    return RowScores(segment_scores(judgements, sources([metric]), progress)[0], settings)


def _metric_settings(name: str, metric: Metric) -> str:
    if isinstance(metric, PairRegressor):
        return _plan_settings(PlanFile.read(name), metric)
    return f"{name}: {metric.signature(1)}"


def _plan_settings(
    file: PlanFile, metric: PairRegressor, weights: Mapping[str, str] | None = None
) -> str:
    """How a metric was trained; `weights` are the digests where there is one for each pair."""
    facts = metric.training_
    fields = {
        "plan": file.name,
        "sha256": file.digest[:DIGITS],
        "encoder": metric.encoder,
        "data": facts["data"],
        "seed": file.plan.seed,
        "references": metric.references,
        "chosen": ", ".join(f"{key} {value:g}" for key, value in facts["chosen"].items()),
        "trained_on": f"{facts['trained_on']}, {facts['precision']}",
        **dict(metric.learnt_fields()),
    }
    if weights is not None:
        fields["weights"] = ", ".join(f"{pair} {digest}" for pair, digest in weights.items())
    settings = (f"{key}:{value}" for key, value in fields.items() if value != "")
    return "|".join([metric.kind, *settings])
