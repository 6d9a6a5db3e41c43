"""The pairwise neural ranker: which of two hypotheses is better, given a reference?

Guzmán, Joty, Màrquez and Nakov (2015), Pairwise Neural Machine Translation Evaluation: a small
network sees vectors of both hypotheses and of the reference, and scores of each hypothesis on skip
arcs. It learns from preferences. The score of a single hypothesis is the probability that it wins
against the other hypotheses of its segment. Training needs PyTorch; scoring does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from scipy.special import expit

from adequa.datasets.load import JudgementData
from adequa.encoders.registry import ENCODERS, load_encoder, with_path
from adequa.errors import AdequaError, check_seed, one_or_more
from adequa.io.arrays import check_shape
from adequa.judgements import Preferences
from adequa.learned.base import LearnedMetric, check_references, training_judgements
from adequa.learned.cards import (
    model_card,
    settings_table,
    shell,
    table,
    training_data,
)
from adequa.learned.pairwise.data import (
    TrainingData,
    UniqueTexts,
    check_contradictions,
    corpora_of,
    mean_over_references,
    preference_texts,
    split_preferences,
)
from adequa.learned.pairwise.inputs import (
    AnyInput,
    RankerInputs,
    Scale,
    Scaling,
    VectorInput,
    encoder_input,
    load_inputs,
)
from adequa.learned.pairwise.network import Features, Loss, NetworkShape, PairwiseNetwork, costs_of
from adequa.learned.results import OTHER_DATA, TrainingResult, trained_on
from adequa.learned.saved import (
    essential_signature,
    is_cached,
    may_help,
    restore,
)
from adequa.metrics.base import Remark, check_choice
from adequa.metrics.registry import check_settings
from adequa.metrics.saved import Description
from adequa.progress import NO_PROGRESS, Progress
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.preference_tau import tau
from adequa.tables import Column, Table, decimal
from adequa.version import __version__

if TYPE_CHECKING:
    from adequa.learned.pairwise.train import Epoch, TrainedNetwork

VALIDATION_FRACTION = 0.1  # fraction of the preferences to validate on where no others are given


@dataclass(eq=False)
class PairwiseRanker(LearnedMetric):
    """A network over inputs with the names of the command line.

    `hidden` is the number of nodes in a group; 0 is a flat network. A `symmetric` ranker decides
    the same for (a, b) and (b, a); the paper's plain version need not.
    """

    inputs: tuple[str, ...] | RankerInputs = ("4metrics",)
    hidden: int = 4
    loss: Loss = "logistic"
    tie_penalty: float = 1.0  # of the Kendall cost
    symmetric: bool = True
    scale: Scale = "range"
    learning_rate: float = 0.01
    batch: int = 30
    decay: float = 1e-4
    epochs: int = 200
    patience: int = 25
    seed: int = 0
    name: str = "pairwise-ranker"

    kind: ClassVar[str] = "pairwise-ranker"
    range = (0.0, 1.0)
    needs_whole_corpus = True
    network_: PairwiseNetwork = field(init=False, repr=False)
    scalings_: tuple[Scaling, Scaling] = field(init=False, repr=False)  # of scores and of vectors

    def __post_init__(self) -> None:
        inputs = self.inputs
        self.loaded_inputs = (
            inputs if isinstance(inputs, RankerInputs) else load_inputs(one_or_more(inputs))
        )
        self.columns = self.loaded_inputs.columns

    def fit(
        self,
        judgements: JudgementData | Sequence[JudgementData],
        progress: Progress = NO_PROGRESS,
        development: Sequence[Preferences] = (),
    ) -> PairwiseRanker:
        """Train on preferences with texts; the epoch is chosen on `development`.

        Where that is empty, a tenth of the preferences is held out, with all of their references.
        """
        self._check_settings()
        check_seed(self.seed)
        for preferences in development:
            check_references(preferences, "a pairwise ranker")
        data = split_preferences(
            training_judgements(judgements, "a pairwise ranker", Preferences),
            development,
            VALIDATION_FRACTION,
            self.seed,
            progress.note,
        )
        texts, rows = UniqueTexts.collect(data.parts(), self.columns)
        train_pairs, validation_pairs = data.pairs(rows)
        check_contradictions(train_pairs, progress.note)
        try:
            from adequa.learned.pairwise.train import (  # noqa: PLC0415  # needs PyTorch
                TrainingSettings,
                train_network,
            )
        except ImportError as error:
            raise AdequaError(
                "Training a pairwise ranker needs PyTorch; install it with: "
                "pip install 'adequa[train]'"
            ) from error
        raw = texts.features(self.loaded_inputs, progress.stage, progress.texts_scored)
        triples, _ = texts.triples(*train_pairs)
        used = np.unique(np.concatenate(train_pairs))
        used_references = np.unique(triples.reference)
        vectors = np.vstack([raw.hypotheses[used], raw.references[used_references]])
        self.scalings_ = (
            Scaling.fit(raw.scores[used], self.scale),
            Scaling.fit(vectors, self.scale),
        )
        features = self._scaled(raw)
        progress.stage(f"Learning from {len(triples):,} preferences")

        def validate(network: PairwiseNetwork) -> float:
            return float(
                tau("tau-wmt12", self._margins(network, texts, features, *validation_pairs))
            )

        def epoch_done(epoch: Epoch) -> None:
            progress.step(epoch.epoch, self.epochs)
            progress.status(f"cost {epoch.mean_cost:.4f}, tau {epoch.tau:.4f}")

        trained = train_network(
            features,
            triples,
            validate,
            costs=costs_of(self.loss, symmetric=self.symmetric, tie_penalty=self.tie_penalty),
            settings=TrainingSettings(**self._training_settings()),
            seed=self.seed,
            epoch_done=epoch_done,
        )
        self.network_, self.digest_ = trained.network, ""
        margins = self._margins(trained.network, texts, features, *validation_pairs)
        self._describe(data, trained, margins)
        return self

    def _training_settings(self) -> dict[str, Any]:
        """Return the fields of `TrainingSettings`."""
        return {
            "hidden": self.hidden,
            "learning_rate": self.learning_rate,
            "batch": self.batch,
            "decay": self.decay,
            "epochs": self.epochs,
            "patience": self.patience,
            "symmetric": self.symmetric,
        }

    def _scaled(self, raw: Features) -> Features:
        scores, vectors = self.scalings_
        return Features(
            vectors.apply(raw.hypotheses), scores.apply(raw.scores), vectors.apply(raw.references)
        )

    def _check_settings(self) -> None:
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("scale", self.scale, get_args(Scale))
        for name in ("batch", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise AdequaError(f"{name} must be 1 or more, not {getattr(self, name)}.")
        if not 0 < self.learning_rate < np.inf:
            raise AdequaError(f"learning_rate must be above 0, not {self.learning_rate}.")
        for name in ("hidden", "decay", "tie_penalty"):
            if not 0 <= getattr(self, name) < np.inf:
                raise AdequaError(f"{name} must be 0 or more, not {getattr(self, name)}.")

    def _margins(
        self,
        network: PairwiseNetwork,
        texts: UniqueTexts,
        features: Features,
        first: IntArray,
        second: IntArray,
    ) -> FloatArray:
        """Return logits of pairs, the mean over references; 0 for a hypothesis against itself.

        The plain version sees every pair in the alphabetical order of the texts, so that the order
        of the pairs reveals nothing. The Kendall cost orders by Δ, the difference of both orders
        (§6.4), and so does a ranker trained by it.
        """
        is_exchanged = np.zeros(len(first), np.bool_)
        both_orders = self.symmetric or self.loss != "logistic"
        if not both_orders:
            hypotheses = texts.segments.hypotheses
            pairs = zip(first.tolist(), second.tolist(), strict=True)
            is_exchanged = np.array([hypotheses[a] > hypotheses[b] for a, b in pairs], np.bool_)
        triples, starts = texts.triples(
            np.where(is_exchanged, second, first), np.where(is_exchanged, first, second)
        )
        z = network.margins(features, triples, symmetric=both_orders)
        margins = mean_over_references(z, starts) * np.where(is_exchanged, -1.0, 1.0)
        return np.where(first == second, 0.0, margins)

    def decide(
        self, first: Segments, second: Segments, progress: Progress = NO_PROGRESS
    ) -> FloatArray:
        """Return the probability that each first hypothesis is better; 0.5 is a tie."""
        self.check_fitted()
        if first.references != second.references:
            raise AdequaError("Two hypotheses are compared by the same references; these differ.")
        corpora = [""] * len(first)
        parts = [(first, corpora), (second, corpora)]
        texts, (one, other) = UniqueTexts.collect(parts, self.columns)
        return self.decide_rows(texts, one, other, progress)

    def decide_preferences(
        self, preferences: Preferences, progress: Progress = NO_PROGRESS
    ) -> FloatArray:
        """Return the probability that the better hypothesis of each preference is better."""
        self.check_fitted()
        corpora = corpora_of(preferences)
        parts = [(segments, corpora) for segments in preference_texts(preferences)]
        texts, (one, other) = UniqueTexts.collect(parts, self.columns)
        return self.decide_rows(texts, one, other, progress)

    def decide_rows(
        self,
        texts: UniqueTexts,
        first: IntArray,
        second: IntArray,
        progress: Progress = NO_PROGRESS,
    ) -> FloatArray:
        """Return the probability that each first text is better than the second, by their rows.

        Features are computed once a text, however many pairs it is in.
        """
        raw = texts.features(self.loaded_inputs, progress.stage, progress.texts_scored)
        progress.stage(f"Comparing {len(first):,} pairs")
        margins = self._margins(self.network_, texts, self._scaled(raw), first, second)
        return np.asarray(expit(margins))

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
        """Return the mean probability of each hypothesis to win against the others of its segment.

        It is 0.5 against a hypothesis of the same text, and where there is no other hypothesis.
        """
        self.check_fitted()
        texts, (rows,) = UniqueTexts.collect([(segments, [""] * len(segments))], self.columns)
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, references in enumerate(texts.segments.references):
            groups.setdefault(references, []).append(row)
        if len(segments) == len(groups):
            raise AdequaError(
                f"{self.name} ranks hypotheses of one segment against each other, and here every "
                "segment has one only; give several systems to `adequa rank`."
            )
        pairs = [(a, b) for group in groups.values() for a in group for b in group if a != b]
        first, second = np.array(pairs, np.intp).reshape(-1, 2).T
        wins = self.decide_rows(texts, first, second)
        count = len(texts.segments)
        copies = np.bincount(rows, minlength=count)  # segments with the same text
        opponents = np.bincount(first, copies[second], minlength=count) + copies - 1
        total = np.bincount(first, copies[second] * wins, minlength=count) + (copies - 1) / 2
        mean = np.divide(total, opponents, out=np.full(count, 0.5), where=opponents > 0)
        return np.asarray(mean[rows])

    @property
    def chosen_epoch(self) -> str:
        """The epoch of the network in words; each of two costs counts its own epochs."""
        chosen = self.training_["chosen"]
        epoch, epochs = f"epoch {chosen['epoch']:,}", f"{chosen['epochs']:,}"
        if self.loss != "logistic-kendall":
            return f"{epoch} of {epochs}"
        return f"{epoch} of the {('logistic', 'Kendall')[chosen['cost']]} cost, {epochs} of both,"

    def counted_remarks(self) -> tuple[Remark, ...]:
        return self.loaded_inputs.counted_remarks()

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("inputs", ",".join(_without_folders(each.name) for each in self.loaded_inputs.inputs)),
            ("hidden", str(self.hidden)),
            ("loss", self.loss),
            ("symmetric", str(self.symmetric).lower()),
            *self.learnt_fields(),
        )

    def settings(self) -> dict[str, Any]:
        return {
            "inputs": _input_facts(self.loaded_inputs),
            "loss": self.loss,
            "tie_penalty": self.tie_penalty,
            "scale": self.scale,
            **self._training_settings(),
            "seed": self.seed,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return _saved_arrays(self.network_, self.scalings_)

    def training_result(self, folder: str | Path = "") -> TrainingResult:
        self.check_fitted()
        agreement = self.agreement_
        columns = (
            Column("language_pair", heading="validation"),
            Column("preferences", "integer"),
            Column("tau", "number", decimals=3),
        )
        by_pair = {pair: f for pair, f in agreement["by_language_pair"].items() if pair}
        slices = {"all": {"rows": agreement["held_out_rows"], "tau": agreement["tau"]}} | by_pair
        figures = Table(columns, [(pair, f["rows"], f["tau"]) for pair, f in slices.items()])
        selection = (
            f"The network of {self.chosen_epoch}, chosen by the strict tau on these preferences; "
            f"{OTHER_DATA}."
        )
        title = trained_on(self.name, self.training_, "preferences")
        return TrainingResult(
            name=self.name,
            kind=self.kind,
            readable=(replace(figures, title=title, notes=(selection,)),),
            figures=figures,
            facts={"training": dict(self.training_), "agreement": dict(agreement)},
            folder=str(folder),
            verb="rank -m {} -t FILE -t FILE -r FILE",
        )

    def card(self) -> str:
        return _card(self)

    def _describe(self, data: TrainingData, trained: TrainedNetwork, margins: FloatArray) -> None:
        best = trained.best
        self.training_ = data.facts() | {
            "chosen": {"cost": best.cost, "epoch": best.epoch, "epochs": len(trained.history)},
        }
        self.agreement_ = {
            "held_out_rows": len(margins),
            "settings_tried": len(trained.history),
            "tau": best.tau,
            "by_language_pair": data.validation_taus(margins),
        }

    @classmethod
    def from_saved(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> PairwiseRanker:
        saved = dict(description.settings)
        inputs = _restore_inputs(saved.pop("inputs"), folder, settings)
        metric = cls(inputs=inputs, name=description.name, **saved)
        metric.network_, metric.scalings_ = _restore_network(arrays, inputs, metric.hidden)
        metric.restore_facts(description)
        return metric


def _without_folders(name: str) -> str:
    """Return the name of an input for signatures: folders mean nothing on other machines.

    >>> _without_folders("meteor:modules=exact,tables=/models/meteor")
    'meteor:modules=exact,tables=meteor'
    >>> _without_folders("words:/a/glove.txt")
    'words:glove.txt'
    """
    return re.sub(r"(^|[=:])/[^,:]*/([^/,:]+)", r"\1\2", name)


# The saved form ----------------------------------------------------------------------------------

# Prefixes of the arrays "..._centre" and "..._reach"; saved folders have half widths by that name.
_SCALINGS = ("scores", "vectors")


def _input_facts(inputs: RankerInputs) -> list[dict[str, Any]]:
    """Return what metric.json holds of each input."""
    return [
        {"name": each.name, "identity": each.identity, "numbers": _dimension(each)}
        for each in inputs.inputs
    ]


def _restore_inputs(
    facts: Sequence[Mapping[str, Any]], folder: Path, settings: Mapping[str, str]
) -> RankerInputs:
    """Return the inputs of a saved ranker; settings `input1` and so on are their new locations."""
    keys = [f"input{number}" for number in range(1, len(facts) + 1)]
    check_settings(folder, settings, [*keys, "cache"])
    cache = is_cached(folder, settings)
    return RankerInputs(
        tuple(
            _restore_input(fact, settings.get(key), cache, may_help(folder, key))
            for fact, key in zip(facts, keys, strict=True)
        )
    )


def _restore_input(
    fact: Mapping[str, Any], location: str | None, cache: bool, advice: str
) -> AnyInput:
    """Return a saved input, from a new location if there is one; check that it is the same."""
    name = str(fact["name"])
    restored = restore(
        f"The input {name} that this ranker was trained with",
        lambda: _load_input(name, location, cache),
        is_moved=location is not None,
        advice=advice,
    )
    # A file of vectors in place of another one is trusted to come from the same encoder.
    is_vector_file = isinstance(restored, VectorInput) and restored.name.startswith("precomputed:")
    is_trusted = is_vector_file and location is not None
    is_same = essential_signature(restored.identity) == essential_signature(str(fact["identity"]))
    if _dimension(restored) != fact["numbers"] or not (is_same or is_trusted):
        raise AdequaError(
            f"{restored.name} is not the input that this ranker was trained with, which was {name}."
        )
    return restored


def _load_input(name: str, location: str | None, cache: bool) -> AnyInput:
    if location is not None and name.partition(":")[0] in ENCODERS:
        return encoder_input(load_encoder(with_path(name, location)), cache=cache)
    (loaded,) = load_inputs([name if location is None else location], cache=cache).inputs
    return loaded


def _dimension(each: AnyInput) -> int:
    """Return the number of features of an input."""
    return each.encoder.dimension if isinstance(each, VectorInput) else each.count


def _saved_arrays(
    network: PairwiseNetwork, scalings: tuple[Scaling, Scaling]
) -> dict[str, np.ndarray]:
    """Return everything learnt as arrays to save."""
    arrays: dict[str, np.ndarray] = {"theta": network.theta}
    for name, scaling in zip(_SCALINGS, scalings, strict=True):
        arrays |= {f"{name}_centre": scaling.centre, f"{name}_reach": scaling.half_width}
    return arrays


def _restore_network(
    arrays: Mapping[str, np.ndarray], inputs: RankerInputs, hidden: int
) -> tuple[PairwiseNetwork, tuple[Scaling, Scaling]]:
    """Return the saved network and scalings."""
    scores, vectors = (
        Scaling(arrays[f"{name}_centre"], arrays[f"{name}_reach"]) for name in _SCALINGS
    )
    shape = NetworkShape(
        vector=sum(each.encoder.dimension for each in inputs.vectors),
        scores=sum(each.count for each in inputs.scores),
        hidden=hidden,
    )
    for name, count in zip(_SCALINGS, (shape.scores, shape.vector), strict=True):
        for part in ("centre", "reach"):
            check_shape(f"{name}_{part}", arrays[f"{name}_{part}"], count)
        if not (arrays[f"{name}_reach"] > 0).all():
            raise ValueError("a feature has no width")
    check_shape("theta", arrays["theta"], None)
    return PairwiseNetwork(shape, arrays["theta"]), (scores, vectors)


# The model card ----------------------------------------------------------------------------------


def _card(metric: PairwiseRanker) -> str:
    """Return the card in Markdown."""
    settings = metric.settings()
    inputs = settings.pop("inputs")
    scores = metric.loaded_inputs.scores
    return model_card(
        metric.name,
        "A pairwise neural ranker: which of two hypotheses is better, given a reference. "
        f"Trained with adequa {__version__}.",
        {
            "Use": [
                shell("adequa rank -m FOLDER -t a.txt -t b.txt -r reference.txt"),
                "A score is the probability, from 0 to 1, that a hypothesis wins against the "
                "others of its segment. Inputs that are files are loaded from where they were when "
                "the ranker was trained; where the first is elsewhere now, write "
                "`-m FOLDER:input1=PATH`, and so on.",
            ],
            "Inputs": [
                table(
                    ["input", "numbers", "used as"],
                    [
                        [fact["name"], fact["numbers"], "scores" if each in scores else "vectors"]
                        for fact, each in zip(inputs, metric.loaded_inputs.inputs, strict=True)
                    ],
                )
            ],
            "Training data": training_data(metric.training_, "preferences"),
            "Settings": [settings_table(settings)],
            "Agreement with people while training": _agreement(metric),
        },
    )


def _agreement(metric: PairwiseRanker) -> Iterator[str]:
    report = metric.agreement_
    yield (
        f"On {report['held_out_rows']:,} preferences of {metric.training_['validated_on']}. The "
        "epoch was chosen on them, so that the figures are a little too good. Strict Kendall's "
        f"tau: {decimal(report['tau'], 3)}."
    )
    by_pair = report["by_language_pair"]
    if len(by_pair) > 1:
        yield table(
            ["language pair", "preferences", "tau"],
            [[pair, figures["rows"], figures["tau"]] for pair, figures in by_pair.items()],
        )
