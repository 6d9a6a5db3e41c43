"""The sentence-pair regressor: a transformer that reads hypothesis and reference together.

By its plan it can read the source in place of the reference, or beside it.

Shimanaka, Kajiwara and Komachi (2019) fine-tune encoder and head on human ratings. Beyond the
paper, a plan may first train on preferences (Guzmán et al., 2015), distil other metrics, and learn
that damaged texts are worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from adequa.datasets.load import JudgementData, load_dataset
from adequa.encoders.surface import SURFACE
from adequa.encoders.transformer_files import required_packages
from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.base import LearnedMetric, training_judgements
from adequa.learned.pair.results import pair_card, pair_result
from adequa.learned.pair.teachers import Teachers, clear_teacher_cache
from adequa.learned.pair.views import (
    REFERENCE_ONLY,
    View,
    parts_read,
    possible_views,
    richest_pairs,
    sorted_views,
)
from adequa.metrics.base import Remark, check_choice
from adequa.metrics.registry import check_settings, load_metric, whole_number
from adequa.metrics.saved import Description
from adequa.progress import NO_PROGRESS, Progress
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, Reduction, Segments, Signature, reduce_pairs

if TYPE_CHECKING:
    import torch

    from adequa.learned.pair.data import PairData, StageSource
    from adequa.learned.pair.devices import Processes
    from adequa.learned.pair.initial_model import InitialModel
    from adequa.learned.pair.network import PairModel
    from adequa.learned.pair.plan import Plan
    from adequa.learned.results import TrainingResult
    from adequa.learned.training import Outcome, TrainingProgress

ENCODER_FOLDER = "encoder"  # of the fine-tuned encoder, in the folder of the metric
_SCORING_TOKENS = 8192  # in a batch


@dataclass(eq=False)
class PairRegressor(LearnedMetric):
    """A transformer with a regression head, trained according to a plan.

    Parameters
    ----------
    plan: all settings of the training, or the path of a TOML file with them.
    device: "auto", "cpu", "cuda" or another device of PyTorch.
    precision: of training: "fp32", "bf16", or "auto" for bf16 on a GPU that supports it.
    checkpoints: folder to resume from after a stop; None for no checkpoints.
    seconds_between_checkpoints: time between two checkpoints.
    download: whether an encoder may be downloaded from the hub.
    name: of the metric.
    """

    plan: Plan
    device: str = "auto"
    precision: str = "auto"
    checkpoints: Path | None = None
    seconds_between_checkpoints: float = 300.0
    download: bool = False
    name: str = "pair-regressor"

    kind: ClassVar[str] = "pair-regressor"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    model_: PairModel = field(init=False, repr=False)
    encoder_: str = field(default="", init=False)  # the name of the pretrained encoder
    references_: Reduction | None = field(default=None, init=False)
    inputs_: tuple[View, ...] = field(default=(), init=False)  # the views that it was trained with
    scoring_precision: str = field(default="fp32", init=False)
    most_tokens: int = field(default=_SCORING_TOKENS, init=False)

    def __post_init__(self) -> None:
        if not hasattr(self.plan, "validated"):
            with required_packages("A pair regressor"):
                from adequa.learned.pair.plan import Plan  # noqa: PLC0415
            self.plan = Plan.load(self.plan)  # type: ignore[arg-type]  # a path, as users may give
        self.reads = parts_read(self.inputs)

    def fit(
        self,
        judgements: JudgementData | Sequence[JudgementData] = (),
        progress: Progress = NO_PROGRESS,
    ) -> PairRegressor:
        """Train by the plan; stages that name no data learn from these judgements."""
        with required_packages("A pair regressor"):
            from adequa.learned.checkpoints import training_into  # noqa: PLC0415
            from adequa.learned.pair.data import collect  # noqa: PLC0415
            from adequa.learned.pair.devices import launched_processes  # noqa: PLC0415

        plan = self.plan.validated("The plan")
        data_to_learn = training_judgements(
            judgements, "a pair regressor", Ratings, Preferences, needs_references=False
        )
        processes = launched_processes(self.device)
        # Only the first of several processes writes, and it locks the folder for all of them.
        folder = self.checkpoints if processes.is_first else None
        with nullcontext() if folder is None else training_into(folder):
            progress.stage("Reading the encoder")
            initial = self._initial_model(plan, processes.device)
            progress.stage("Reading the data")
            teachers = Teachers(self.checkpoints, processes, progress)
            planned = replace(plan, inputs=initial.inputs)
            data = collect(planned, data_to_learn, load_dataset, teachers)
            for note in (*initial.notes, *data.notes):
                progress.note(note)
            if plan.vocabulary:
                from adequa.learned.pair.reduce import with_vocabulary  # noqa: PLC0415

                model = with_vocabulary(initial.model, data.texts, plan.vocabulary)
                initial = replace(initial, model=model)
            self._train(plan, initial, data, processes, progress, teachers=teachers.signatures)
        return self

    def _initial_model(self, plan: Plan, device: torch.device) -> InitialModel:
        from adequa.learned.pair.initial_model import (  # noqa: PLC0415  # needs PyTorch
            from_encoder,
            from_metric,
        )

        if not plan.start:
            return from_encoder(plan, device, download=self.download)
        metric = load_metric(plan.start)
        if isinstance(metric, PairRegressor):
            return from_metric(plan, metric, device)
        from adequa.learned.packed.restore import restored_regressor  # noqa: PLC0415  # imports this

        return from_metric(plan, restored_regressor(metric, plan.start), device, restored=True)

    def _train(
        self,
        plan: Plan,
        initial: InitialModel,
        data: PairData,
        processes: Processes,
        progress: Progress,
        *,
        teachers: Sequence[str],
    ) -> None:
        """Train the initial model, and set the fitted attributes."""
        from adequa.learned.pair.devices import select_precision  # noqa: PLC0415  # needs PyTorch
        from adequa.learned.pair.network import output_scales  # noqa: PLC0415
        from adequa.learned.pair.train import (  # noqa: PLC0415
            PairCheckpoints,
            Run,
            checkpoint_identity,
            plan_stages,
            train,
        )

        model = initial.model
        if plan.encoder_dropout is not None:
            model.network.set_encoder_dropout(plan.encoder_dropout)
        progress.stage(f"Tokenising {len(data.texts):,} pairs")
        precision = select_precision(self.precision, processes.device)
        inputs = model.inputs(data.texts, precision, plan.most_tokens)
        if data.views is not None:
            inputs = replace(inputs, shown=data.views.richest)
        if inputs.surface is not None:
            model.network.standardise_surface(inputs.surface, first=initial.standardised_surface)
        checkpoints = None
        if self.checkpoints is not None:
            checkpoints = PairCheckpoints(
                self.checkpoints,
                checkpoint_identity(plan, initial.digest, precision, data.digest, teachers),
                plan.most_tokens,
                progress.note,
            )
        model.network.to(processes.device)
        run = Run(
            inputs=inputs,
            development=data.development,
            seed=plan.seed,
            processes=processes,
            views=data.views,
            checkpoints=checkpoints,
            seconds_between_checkpoints=self.seconds_between_checkpoints,
            report=_reporter(progress),
            note=progress.note,
        )
        with output_scales(model.network, data.output_scales) as scales:
            outcome = train(model.network, plan_stages(plan, data), run)
            maps = scales.values()
        self.model_, self.digest_ = model, ""
        self.encoder_, self.references_ = initial.encoder, initial.references
        self.set_inputs(initial.inputs)
        self.training_ = {
            **_training_facts(plan, data, outcome, maps),
            "processes": processes.count,
            "precision": precision,
            "trained_on": _device_name(model.network.device),
            **initial.facts,
        }
        self.agreement_ = {"held_out": dict(data.development_rows), **outcome.best.figures}

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        self.check_fitted()
        from adequa.learned.pair.devices import select_precision  # noqa: PLC0415  # needs PyTorch

        every, segment = richest_pairs(segments, self.inputs)
        pairs, index = distinct(every)
        precision = select_precision(self.scoring_precision, self.model_.network.device)
        counts = np.bincount(index, minlength=len(pairs)).tolist()
        scores = self.model_.scores(pairs, precision, self.most_tokens, counts)
        return reduce_pairs(scores[index], segment, self.references)

    @property
    def inputs(self) -> tuple[View, ...]:
        """The views that it reads, the richest first; before training, the plan's."""
        return self.inputs_ or sorted_views(self.plan.inputs or REFERENCE_ONLY)

    def set_inputs(self, views: tuple[View, ...]) -> None:
        """Set the views that it reads."""
        self.inputs_, self.reads = views, parts_read(views)

    @property
    def encoder(self) -> str:
        """The name of the pretrained encoder; before training, of the plan's encoder or start."""
        return self.encoder_ or Path(self.plan.encoder or self.plan.start).name

    @property
    def references(self) -> Reduction:
        """Which score counts with several references; before training, the plan's."""
        return self.references_ or ("mean" if self.plan.references == "mean" else "best")

    def counted_remarks(self) -> tuple[Remark, ...]:
        self.check_fitted()
        before = f"{self.name} read the first {self.model_.max_length} tokens only of "
        beside = " or ".join(self.reads)
        one, many = (f" {pairs} of hypothesis and {beside}." for pairs in ("pair", "pairs"))
        return (Remark((before, many), (before, one), (self.model_.truncated,)),)

    def signature(self, reference_count: int | None, *, sources: bool | None = None) -> Signature:
        """The signature names the view of these segments, unless there is the reference alone.

        Where it is not known whether segments have sources, it names all views that are possible.
        """
        signature = super().signature(reference_count)
        if self.inputs == REFERENCE_ONLY:
            return signature
        has_reference = "reference" in self.reads and reference_count != 0
        views = [
            possible_views(self.inputs, reference=has_reference, source=source)[:1]
            for source in ((True, False) if sources is None else (sources,))
        ]
        names = dict.fromkeys(view for part in views for view in part)
        count, *fields = signature.fields
        return replace(signature, fields=(count, ("inputs", "+".join(names)), *fields))

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("encoder", self.encoder),
            ("references", self.references),
            *((("precision", self.scoring_precision),) if self.scoring_precision != "fp32" else ()),
            *self.learnt_fields(),
        )

    # Saving and loading

    def settings(self) -> dict[str, Any]:
        model = self.model_
        return {
            "plan": self.plan.table(),
            "encoder": self.encoder,
            "references": self.references,
            "inputs": list(self.inputs),
            "head": asdict(model.head),
            "max_length": model.max_length,
            "lowercase": model.lowercase,
            "surface": list(SURFACE[: model.head.surface]),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return self.model_.network.head_arrays()

    def save(self, folder: str | Path) -> PairRegressor:
        if self.checkpoints is None:
            super().save(folder)
            return self
        self.check_fitted()
        from adequa.learned.checkpoints import (  # noqa: PLC0415  # needs PyTorch
            Checkpoints,
            training_saved,
        )

        with training_saved(self.checkpoints) as may_delete:
            super().save(folder)
            if may_delete:
                clear_teacher_cache(self.checkpoints)
                Checkpoints(self.checkpoints, "").remove()
        return self

    def write_further(self, folder: Path) -> Mapping[str, str]:
        written = self.model_.write_encoder(folder / ENCODER_FOLDER)
        return {f"{ENCODER_FOLDER}/{name}": digest for name, digest in written.items()}

    def training_result(self, folder: str | Path = "") -> TrainingResult:
        self.check_fitted()
        return pair_result(self, folder)

    def card(self) -> str:
        return pair_card(self)

    @classmethod
    def from_saved(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> PairRegressor:
        with required_packages(folder):
            from adequa.encoders.device import torch_device  # noqa: PLC0415
            from adequa.learned.pair.devices import select_precision  # noqa: PLC0415
            from adequa.learned.pair.network import Head, PairModel  # noqa: PLC0415
            from adequa.learned.pair.plan import plan_from  # noqa: PLC0415
        check_settings(folder, settings, ("device", "precision", "most_tokens", "references"))
        saved = description.settings
        plan = plan_from(saved["plan"], f"{folder / 'metric.json'}")
        references = settings.get("references", saved["references"])
        check_choice("references", references, get_args(Reduction))
        metric = cls(plan=plan, name=description.name)
        metric.encoder_ = str(saved["encoder"])
        metric.set_inputs(sorted_views(saved.get("inputs", REFERENCE_ONLY)))
        metric.references_ = "best" if references == "best" else "mean"
        if saved["surface"] != list(SURFACE[: len(saved["surface"])]):  # new ones come last
            raise AdequaError(
                f"{folder} was trained with other surface features than this version of adequa "
                f"has: {', '.join(saved['surface'])}."
            )
        metric.model_ = PairModel.read(
            folder / ENCODER_FOLDER,
            Head(**saved["head"]),
            arrays,
            max_length=saved["max_length"],
            lowercase=saved["lowercase"],
        )
        metric.model_.network.to(torch_device(settings.get("device", "auto")))
        metric.scoring_precision = select_precision(
            settings.get("precision", "fp32"), metric.model_.network.device
        )
        metric.most_tokens = whole_number(
            "most_tokens", settings.get("most_tokens", str(_SCORING_TOKENS))
        )
        metric.restore_facts(description)
        return metric


def _training_facts(
    plan: Plan, data: PairData, outcome: Outcome, maps: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    """Facts about the data and the choices of a training, for metric.json.

    `maps` are the slope and intercept of every output scale.
    """
    stages = plan.stage
    sources = [source.facts for stage in data.stages for source in stage]
    chosen = [stage.trials()[index] for stage, index in zip(stages, outcome.chosen, strict=True)]
    return {
        "data": " + ".join(
            dict.fromkeys(name for facts in sources for name in facts["rows_by_dataset"])
        ),
        "rows": sum(facts["rows"] for facts in sources),
        "stages": [
            [{**source.facts, **_scale_facts(source, maps)} for source in stage]
            for stage in data.stages
        ],
        "chosen": {
            f"stage {number} {key}": value
            for number, (stage, trial) in enumerate(zip(stages, chosen, strict=True), 1)
            for key, value in trial.items()
            if len(getattr(stage, key)) > 1
        },
        "given_up": [
            {"stage": stage + 1, **stages[stage].trials()[trial]}
            for stage, trial in outcome.diverged
        ],
        "pairs": len(data.texts),
        "data_digest": data.digest,
        "history": outcome.history,
    }


def _scale_facts(source: StageSource, maps: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The output scales of a source's datasets: rating = mean + std (slope score + intercept).

    The score is that of the network before it is scaled back.
    """
    scales = [
        {
            "dataset": each.dataset,
            **({"lp": each.lp} if each.lp else {}),
            "mean": each.mean,
            "std": each.std,
            "slope": maps[each.scale][0],
            "intercept": maps[each.scale][1],
        }
        for each in source.scaled_sets
    ]
    return {"output_scales": scales} if scales else {}


def _reporter(progress: Progress) -> Callable[[TrainingProgress], None]:
    """A callback of the training loop that passes progress on."""

    def report(state: TrainingProgress) -> None:
        progress.stage(f"Learning from {state.stage}")
        progress.step(state.step, state.steps)
        figures = "".join(f", {key} {value:.3f}" for key, value in state.figures.items())
        progress.status(f"loss {state.loss:.4f}{figures}")

    return report


def _device_name(device: torch.device) -> str:
    import torch  # noqa: PLC0415  # an extra, and heavy

    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
