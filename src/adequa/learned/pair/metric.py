"""The sentence-pair regressor: a transformer reads hypothesis and reference together.

Shimanaka, Kajiwara and Komachi (2019): encoder and head are fine-tuned on what people said. Beyond
the paper, a plan may have it learn from preferences first (Guzmán et al., 2015) and from ratings
second, or from what another metric says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from adequa.datasets.load import load_dataset
from adequa.encoders.surface import SURFACE
from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.base import UNSEEN, LearnedMetric, Training
from adequa.learned.cards import cell, shown
from adequa.learned.pair.teachers import Teaching, forget_taught
from adequa.learned.references import Reduction, reduce_pairs
from adequa.metrics.registry import check_choice, check_settings, load_metric, whole_number
from adequa.metrics.saved import DIGITS, Description
from adequa.remarks import Remark
from adequa.runtime.batching import distinct
from adequa.segments import FloatArray, Segments
from adequa.version import __version__

if TYPE_CHECKING:
    import torch

    from adequa.learned.base import LearnedMetric
    from adequa.learned.pair.data import PairData
    from adequa.learned.pair.initial import Beginning
    from adequa.learned.pair.model import PairModel
    from adequa.learned.pair.plan import Plan
    from adequa.learned.pair.processes import Processes
    from adequa.learned.training import Outcome, Progress


ENCODER = "encoder"  # the folder of the fine-tuned encoder, in that of the metric
_SCORING_TOKENS = 8192  # read at once


@dataclass(eq=False)
class PairRegressor(LearnedMetric):
    """A transformer with a head, trained as a plan says."""

    plan: Plan
    device: str = "auto"
    precision: str = "auto"  # while training: bf16 where a GPU has it
    checkpoints: Path | None = None  # a folder, to go on from after a stop
    seconds_between_checkpoints: float = 300.0
    download: bool = False  # get an encoder from the hub
    name: str = "pair-regressor"

    kind: ClassVar[str] = "pair-regressor"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    model_: PairModel = field(init=False, repr=False)
    encoder_: str = field(default="", init=False)  # the name of the pretrained encoder
    references_: Reduction | None = field(default=None, init=False)
    scoring_precision: str = field(default="fp32", init=False)
    most_tokens: int = field(default=_SCORING_TOKENS, init=False)

    def fit(
        self,
        judgements: Ratings | Preferences | Sequence[Ratings | Preferences] = (),
        training: Training = UNSEEN,
    ) -> PairRegressor:
        """Train as the plan says; judgements are for the stages that name no data."""
        with _needed_packages("A pair regressor"):
            from adequa.learned.checkpoints import training_into  # noqa: PLC0415
            from adequa.learned.pair.data import collect  # noqa: PLC0415
            from adequa.learned.pair.processes import processes  # noqa: PLC0415

        plan = self.plan.validated("The plan")
        given = [judgements] if isinstance(judgements, Ratings | Preferences) else judgements
        where = processes(self.device)
        # Of several processes the first alone writes; it stands for all of them.
        folder = self.checkpoints if where.is_first else None
        with nullcontext() if folder is None else training_into(folder):
            training.stage("Reading the encoder")
            begun = self._begun(plan, where.device)
            training.stage("Reading the data")
            teach = Teaching(self.checkpoints, where, training)
            data = collect(plan, given, load_dataset, teach)
            for note in (*begun.notes, *data.notes):
                training.note(note)
            self._learn(plan, begun, data, where, training, teachers=teach.signatures)
        return self

    def _learn(
        self,
        plan: Plan,
        begun: Beginning,
        data: PairData,
        where: Processes,
        training: Training,
        *,
        teachers: Sequence[str],
    ) -> None:
        """Train what the plan begins with."""
        from adequa.learned.pair.model import chosen_precision  # noqa: PLC0415  # needs PyTorch
        from adequa.learned.pair.resuming import ToldCheckpoints, identity  # noqa: PLC0415
        from adequa.learned.pair.stages import stages  # noqa: PLC0415
        from adequa.learned.pair.train import Run, train  # noqa: PLC0415

        model = begun.model
        if plan.encoder_dropout is not None:
            model.network.drop_out(plan.encoder_dropout)
        training.stage(f"Tokenising {len(data.texts):,} pairs")
        precision = chosen_precision(self.precision, where.device)
        inputs = model.inputs(data.texts, precision, plan.most_tokens)
        if inputs.surface is not None and not plan.start:
            model.network.standardise(inputs.surface)
        kept = None
        if self.checkpoints is not None:
            kept = ToldCheckpoints(
                self.checkpoints,
                identity(plan, begun.digest, precision, data.digest, teachers),
                plan.most_tokens,
                training.note,
            )
        model.network.to(where.device)
        outcome = train(
            model.network,
            stages(plan, data),
            Run(
                inputs=inputs,
                development=data.development,
                seed=plan.seed,
                processes=where,
                checkpoints=kept,
                seconds_between_checkpoints=self.seconds_between_checkpoints,
                report=_reporter(training),
                note=training.note,
            ),
        )
        self.model_, self.digest_ = model, ""
        self.encoder_, self.references_ = begun.encoder, begun.references
        ran = {
            "processes": where.count,
            "precision": precision,
            "trained_on": _device_name(model.network.device),
        }
        self._describe(data, outcome, {**ran, **begun.facts})

    def _begun(self, plan: Plan, device: torch.device) -> Beginning:
        """What training begins with."""
        from adequa.learned.pair.initial import (  # noqa: PLC0415  # needs PyTorch
            from_encoder,
            from_metric,
        )

        if not plan.start:
            return from_encoder(plan, device, download=self.download)
        metric = load_metric(plan.start)
        if not isinstance(metric, PairRegressor):
            raise AdequaError(f"{plan.start} is no pair regressor to go on from.")
        return from_metric(plan, metric, device)

    def _describe(self, data: PairData, outcome: Outcome, more: Mapping[str, Any]) -> None:
        from adequa.learned.pair.stages import combinations  # noqa: PLC0415  # needs PyTorch

        sources = [source.facts for stage in data.stages for source in stage]
        trials = [
            combinations(stage)[number]
            for stage, number in zip(self.plan.stage, outcome.chosen, strict=True)
        ]
        self.training_ = {
            "data": " + ".join(
                dict.fromkeys(n for facts in sources for n in facts["rows_by_dataset"])
            ),
            "rows": sum(facts["rows"] for facts in sources),
            "stages": [[dict(source.facts) for source in stage] for stage in data.stages],
            "chosen": {
                f"stage {number} {key}": value
                for number, (stage, trial) in enumerate(
                    zip(self.plan.stage, trials, strict=True), 1
                )
                for key, value in trial.items()
                if len(getattr(stage, key)) > 1
            },
            "given_up": [  # since the loss was no number any more
                {"stage": stage + 1, **combinations(self.plan.stage[stage])[trial]}
                for stage, trial in outcome.diverged
            ],
            "pairs": len(data.texts),
            "data_digest": data.digest,
            "history": outcome.history,
            **more,
        }
        self.agreement_ = {"held_out": dict(data.held_out), **outcome.best.figures}

    def score_segments(self, segments: Segments) -> FloatArray:
        self.check_fitted()
        each = segments.pairs()
        pairs, at = distinct(list(zip(each.references, each.hypotheses, strict=True)))
        from adequa.learned.pair.model import chosen_precision  # noqa: PLC0415  # needs PyTorch

        precision = chosen_precision(self.scoring_precision, self.model_.network.device)
        times = np.bincount(at, minlength=len(pairs)).tolist()
        scores = self.model_.scores(pairs, precision, self.most_tokens, times)
        return reduce_pairs(scores[at], each.segment, self.references)

    @property
    def encoder(self) -> str:
        """The name of the pretrained encoder, or for now of what the plan begins with."""
        return self.encoder_ or Path(self.plan.encoder or self.plan.start).name

    @property
    def references(self) -> Reduction:
        """What counts where a segment has several; known for certain once it is trained."""
        return self.references_ or ("mean" if self.plan.references == "mean" else "best")

    def noticed(self) -> tuple[Remark, ...]:
        before = f"{self.name} read the first {self.model_.max_length} tokens only of "
        one, several = (f" {pairs} of hypothesis and reference." for pairs in ("pair", "pairs"))
        return (Remark((before, several), (before, one), (self.model_.cut,)),)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("encoder", self.encoder),
            ("references", self.references),
            *((("precision", self.scoring_precision),) if self.scoring_precision != "fp32" else ()),
            *self.learnt_fields(),
        )

    def settings(self) -> dict[str, Any]:
        model = self.model_
        return {
            "plan": self.plan.table(),
            "encoder": self.encoder,
            "references": self.references,
            "head": asdict(model.head),
            "max_length": model.max_length,
            "lowercase": model.lowercase,
            "surface": list(SURFACE) if model.head.surface else [],
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

        with training_saved(self.checkpoints) as may_go:
            super().save(folder)
            if may_go:
                forget_taught(self.checkpoints)
                Checkpoints(self.checkpoints, "").remove()
        return self

    def write_further(self, folder: Path) -> Mapping[str, str]:
        written = self.model_.write_encoder(folder / ENCODER)
        return {f"{ENCODER}/{name}": digest for name, digest in written.items()}

    def card(self) -> str:
        return pair_card(self)

    @classmethod
    def load(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> PairRegressor:
        with _needed_packages(folder):
            from adequa.learned.device import training_device  # noqa: PLC0415
            from adequa.learned.pair.model import PairModel, chosen_precision  # noqa: PLC0415
            from adequa.learned.pair.network import Head  # noqa: PLC0415
            from adequa.learned.pair.plan import plan_from  # noqa: PLC0415
        check_settings(folder, settings, ("device", "precision", "most_tokens", "references"))
        kept = description.settings
        plan = plan_from(kept["plan"], f"{folder / 'metric.json'}")
        references = settings.get("references", kept["references"])
        check_choice("references", references, get_args(Reduction))
        metric = cls(plan=plan, name=description.name)
        metric.encoder_ = str(kept["encoder"])
        metric.references_ = "best" if references == "best" else "mean"
        if kept["surface"] not in ([], list(SURFACE)):
            raise AdequaError(
                f"{folder} was trained with other surface features than this version of adequa "
                f"has: {', '.join(kept['surface'])}."
            )
        metric.model_ = PairModel.read(
            folder / ENCODER,
            Head(**kept["head"]),
            arrays,
            max_length=kept["max_length"],
            lowercase=kept["lowercase"],
        )
        metric.model_.network.to(training_device(settings.get("device", "auto")))
        metric.scoring_precision = chosen_precision(
            settings.get("precision", "fp32"), metric.model_.network.device
        )
        metric.most_tokens = whole_number("most_tokens", settings.get("most_tokens", "8192"))
        metric.training_, metric.agreement_ = description.training, description.agreement
        metric.digest_ = description.identity
        return metric


def _reporter(training: Training) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        training.stage(f"Learning from {progress.stage}")
        training.advance(progress.step, progress.steps)
        figures = "".join(f", {key} {value:.3f}" for key, value in progress.figures.items())
        training.told(f"loss {progress.loss:.4f}{figures}")

    return report


@contextmanager
def _needed_packages(what: object) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise AdequaError(
            f"{what} needs PyTorch and transformers; install them with: pip install 'adequa[train]'"
        ) from error


def _device_name(device: torch.device) -> str:
    import torch  # noqa: PLC0415  # an extra, and heavy

    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def pair_card(metric: PairRegressor) -> str:
    """A card in Markdown."""
    return "".join(_parts(metric))


def earlier(training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The metrics that one went on from, or is the mean of, as metric.json has them, in order.

    One that several others went on from comes once.
    """
    told = set[str]()
    for each in _earlier(training):
        if each["digest"] not in told or not each["digest"]:
            told.add(each["digest"])
            yield each


def _earlier(training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    begun = training.get("begun_from")
    for each in (*([] if begun is None else [begun]), *training.get("averaged", ())):
        yield from _earlier(each["training"])
        yield each


def from_earlier(training: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what the weights came from."""
    mean = training.get("averaged", ())
    who = "one of them" if mean else "it"
    named = {each["digest"]: f"{each['name']} ({each['digest'][:DIGITS]})" for each in mean}
    if mean:
        *first, last = (named[each["digest"]] for each in mean)
        yield f"The weights are the mean of those of {', '.join(first)} and {last}. "
    for each in earlier(training):
        if each["digest"] not in named:
            yield f"{each['name']}, which {who} went on from, has the weights "
            yield f"{each['digest'][:DIGITS]}. "


def _parts(metric: PairRegressor) -> Iterator[str]:
    facts = metric.training_
    yield f"# {metric.name}\n\nA sentence-pair regressor: `{metric.encoder}`, fine-tuned to read a "
    yield f"hypothesis and its reference together. Trained with adequa {__version__}.\n"
    yield "\n## Use\n\n```sh\nadequa score -m FOLDER -t hypotheses.txt -r references.txt\n```\n"
    yield "\nThe encoder and its tokenizer are in this folder. Higher is better; scores are on the "
    yield "scale of the last numbers that it learnt.\n"
    yield "\n## Stages\n\n| stage | learns | from | rows |\n| ---: | --- | --- | ---: |\n"
    for begun in earlier(facts):
        yield from _stages(begun["training"], f"{cell(begun['name'])}, ")
    yield from _stages(facts)
    if any(earlier(facts)):
        yield f"\n{''.join(from_earlier(facts)).strip()}\n"
    if "averaged" in facts:
        yield "\nA mean of weights was not measured while it was made: measure it on data of your "
        yield "own with `adequa evaluate`.\n"
        return
    yield f"\n{facts['pairs']:,} different pairs of reference and hypothesis in all, "
    yield f"trained on {facts['trained_on']}, {facts['precision']}.\n"
    yield from _figures(metric)


def _stages(training: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for number, sources in enumerate(training["stages"], 1):
        for source in sources:
            names = cell(", ".join(source["rows_by_dataset"]))
            yield f"| {before}{number} | {source['objective']} | {names} | {source['rows']:,} |\n"


def _figures(metric: LearnedMetric) -> Iterator[str]:
    held_out = metric.agreement_["held_out"]
    if not any(held_out.values()):
        yield "\nNothing was held out for development.\n"
        return
    yield "\n## Agreement with people while training\n\n"
    counts = " and ".join(f"{count:,} {kind}" for kind, count in held_out.items() if count)
    yield f"On {counts} that were held out, with all outputs of their references. What is kept "
    yield "was chosen on them, so that the figures are a little too good: measure on data of your "
    yield "own with `adequa evaluate`.\n\n"
    yield "| after | step | loss | Pearson | ordered rightly |\n"
    yield "| --- | ---: | ---: | ---: | ---: |\n"
    for each in metric.training_["history"]:
        figures = " | ".join(shown(each.get(key)) for key in ("loss", "pearson", "accuracy"))
        yield f"| {cell(each['stage'])} | {each['step']:,} | {figures} |\n"
