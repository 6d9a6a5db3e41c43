"""The pairwise neural ranker: which of two hypotheses is better, given a reference?

Guzmán, Joty, Màrquez and Nakov (2015), Pairwise Neural Machine Translation Evaluation: a small
network looks at vectors of both hypotheses and the reference, and at scores of each hypothesis on
skip arcs. It learns from preferences. An absolute score of a hypothesis is how likely it is to win
against the other hypotheses of its segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from adequa.encoders.registry import ENCODERS, load_encoder, with_path
from adequa.errors import AdequaError
from adequa.judgements import Preferences, Ratings
from adequa.learned.base import UNSEEN, LearnedMetric, Training
from adequa.learned.cards import (
    model_card,
    settings_table,
    shell,
    table,
    three_digits,
    training_data,
)
from adequa.learned.pairwise.costs import Loss, stages
from adequa.learned.pairwise.data import (
    Learnt,
    PairwiseTexts,
    both_texts,
    check_learnable,
    corpora_of,
    learnt_and_held_out,
    mean_by_pair,
)
from adequa.learned.pairwise.inputs import (
    AnyInput,
    NamedInputs,
    Scale,
    Scaling,
    VectorInput,
    encoder_input,
    named_inputs,
)
from adequa.learned.pairwise.network import (
    PairwiseInputs,
    PairwiseNetwork,
    PairwiseShape,
    probabilities,
)
from adequa.learned.pairwise.train import (
    Epoch,
    PairwiseSetting,
    PairwiseTrained,
    train_pairwise,
)
from adequa.learned.saved import (
    SavedArrays,
    check_sizes,
    essential_signature,
    is_cached,
    may_help,
    restore,
    saved_array,
)
from adequa.metrics.registry import check_choice, check_settings
from adequa.metrics.saved import Description
from adequa.remarks import Remark
from adequa.segments import FloatArray, IntArray, Segments
from adequa.statistics.preference_tau import tau_wmt12
from adequa.version import __version__

HELD_OUT = 0.1  # the share of preferences to validate on, where none are given for it


@dataclass(eq=False)
class PairwiseRanker(LearnedMetric):
    """A network over inputs that are named as on the command line.

    `hidden` is the number of nodes a group, 0 for the flat variant. A `symmetric` ranker decides
    the same for (a, b) and (b, a); the paper's plain version need not.
    """

    inputs: tuple[str, ...] | NamedInputs = ("4metrics",)
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
        given = self.inputs
        self.named = given if isinstance(given, NamedInputs) else named_inputs(given)
        self.columns = self.named.columns

    def fit(
        self,
        judgements: Ratings | Preferences | Sequence[Preferences],
        training: Training = UNSEEN,
        development: Sequence[Preferences] = (),
    ) -> PairwiseRanker:
        """Learn from preferences with texts; the epoch is chosen on `development`.

        Where that is empty, a tenth of the preferences is held out, with all of their references.
        """
        self._check_settings()
        data = learnt_and_held_out(judgements, development, HELD_OUT, self.seed, training.note)
        texts, rows = PairwiseTexts.of(data.parts(), self.columns)
        learnt, held_out = data.pairs(rows)
        check_learnable(learnt, training.note)
        raw = texts.inputs(self.named, training.stage, training.scored)
        used = np.unique(np.concatenate(learnt))
        triples, _ = texts.compared(*learnt)
        self.scalings_ = (
            Scaling.of(raw.scores[used], self.scale),
            Scaling.of(
                np.vstack([raw.hypotheses[used], raw.references[np.unique(triples.reference)]]),
                self.scale,
            ),
        )
        inputs = self._scaled(raw)
        training.stage(f"Learning from {len(triples):,} preferences")

        def validate(network: PairwiseNetwork) -> float:
            return float(tau_wmt12(self._margins(network, texts, inputs, *held_out)))

        def told(epoch: Epoch) -> None:
            training.advance(epoch.epoch, self.epochs)
            training.told(f"cost {epoch.mean_cost:.4f}, tau {epoch.tau:.4f}")

        trained = train_pairwise(
            inputs,
            triples,
            validate,
            costs=stages(self.loss, symmetric=self.symmetric, tie_penalty=self.tie_penalty),
            setting=self.setting,
            seed=self.seed,
            told=told,
        )
        self.network_, self.digest_ = trained.network, ""
        margins = self._margins(trained.network, texts, inputs, *held_out)
        self._describe(data, trained, margins)
        return self

    @property
    def setting(self) -> PairwiseSetting:
        """How the network is trained."""
        return PairwiseSetting(
            hidden=self.hidden,
            learning_rate=self.learning_rate,
            batch=self.batch,
            decay=self.decay,
            epochs=self.epochs,
            patience=self.patience,
            symmetric=self.symmetric,
        )

    def _check_settings(self) -> None:
        check_choice("loss", self.loss, get_args(Loss))
        check_choice("scale", self.scale, get_args(Scale))
        for name in ("batch", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise AdequaError(f"{name} must be 1 or more, not {getattr(self, name)}.")
        for name in ("learning_rate", "decay", "tie_penalty"):
            value = getattr(self, name)
            if not 0 <= value < np.inf or (name == "learning_rate" and not value):
                least = "above 0" if name == "learning_rate" else "0 or more"
                raise AdequaError(f"{name} must be {least}, not {value}.")
        if self.hidden < 0:
            raise AdequaError(f"hidden must be 0 (flat) or more, not {self.hidden}.")

    def _scaled(self, raw: PairwiseInputs) -> PairwiseInputs:
        scores, vectors = self.scalings_
        return PairwiseInputs(
            vectors.apply(raw.hypotheses), scores.apply(raw.scores), vectors.apply(raw.references)
        )

    def _margins(
        self,
        network: PairwiseNetwork,
        texts: PairwiseTexts,
        inputs: PairwiseInputs,
        first: IntArray,
        second: IntArray,
    ) -> FloatArray:
        """Logits of pairs, the mean over references; 0 for a hypothesis against itself.

        The plain version sees every pair in the order of the texts, so that the order of the pairs
        tells it nothing. The Kendall cost orders by Δ, the difference of both orders (§6.4), and
        so does a ranker that learnt by it.
        """
        swapped = np.zeros(len(first), np.bool_)
        both_orders = self.symmetric or self.loss != "logistic"
        if not both_orders:
            said = texts.segments.hypotheses
            pairs = zip(first.tolist(), second.tolist(), strict=True)
            swapped = np.array([said[one] > said[other] for one, other in pairs], np.bool_)
        one, other = np.where(swapped, second, first), np.where(swapped, first, second)
        triples, starts = texts.compared(one, other)
        z = network.margins(inputs, triples, symmetric=both_orders)
        margins = mean_by_pair(z, starts) * np.where(swapped, -1.0, 1.0)
        return np.where(first == second, 0.0, margins)

    def decide(self, first: Segments, second: Segments, training: Training = UNSEEN) -> FloatArray:
        """How likely the first hypothesis of each row is better than the second; 0.5 is a tie."""
        self.check_fitted()
        if first.references != second.references:
            raise AdequaError("Two hypotheses are compared by the same references; these differ.")
        corpora = [""] * len(first)
        texts, (one, other) = PairwiseTexts.of([(first, corpora), (second, corpora)], self.columns)
        return self.decided(texts, one, other, training)

    def decide_preferences(
        self, preferences: Preferences, training: Training = UNSEEN
    ) -> FloatArray:
        """How likely the better one of each preference is better, by the ranker."""
        self.check_fitted()
        corpora = corpora_of(preferences)
        parts = [(side, corpora) for side in both_texts(preferences)]
        texts, (better, worse) = PairwiseTexts.of(parts, self.columns)
        return self.decided(texts, better, worse, training)

    def decided(
        self, texts: PairwiseTexts, first: IntArray, second: IntArray, training: Training = UNSEEN
    ) -> FloatArray:
        """The same for rows of texts: inputs are computed once a text, whatever the pairs."""
        inputs = self._scaled(texts.inputs(self.named, training.stage, training.scored))
        training.stage(f"Comparing {len(first):,} pairs")
        return probabilities(self._margins(self.network_, texts, inputs, first, second))

    def score_segments(self, segments: Segments) -> FloatArray:
        """How likely each hypothesis wins against the others of its references, on average.

        Against one of the same text that is 0.5, and so it is for a hypothesis without any other.
        """
        self.check_fitted()
        texts, (rows,) = PairwiseTexts.of([(segments, [""] * len(segments))], self.columns)
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, references in enumerate(texts.segments.references):
            groups.setdefault(references, []).append(row)
        times = np.bincount(rows, minlength=len(texts.segments))  # that a text is there
        if len(segments) == len(groups):
            raise AdequaError(
                f"{self.name} ranks hypotheses of one segment against each other, and here every "
                "segment has one only; give several systems to `adequa rank`."
            )
        pairs = [(a, b) for group in groups.values() for a in group for b in group if a != b]
        first, second = np.array(pairs, np.intp).reshape(-1, 2).T
        wins = self.decided(texts, first, second)
        count = len(texts.segments)
        others = np.bincount(first, times[second], minlength=count) + times - 1
        total = np.bincount(first, times[second] * wins, minlength=count) + (times - 1) / 2
        mean = np.divide(total, others, out=np.full(count, 0.5), where=others > 0)
        return np.asarray(mean[rows])

    @property
    def kept_epoch(self) -> str:
        """Which epoch the network is of, in words; each of two costs counts its own."""
        chosen = self.training_["chosen"]
        epoch, epochs = f"epoch {chosen['epoch']:,}", f"{chosen['epochs']:,}"
        if self.loss != "logistic-kendall":
            return f"{epoch} of {epochs}"
        return f"{epoch} of the {('logistic', 'Kendall')[chosen['cost']]} cost, {epochs} of both,"

    def noticed(self) -> tuple[Remark, ...]:
        return self.named.noticed()

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("inputs", ",".join(_shown(each.name) for each in self.named.inputs)),
            ("hidden", str(self.hidden)),
            ("loss", self.loss),
            ("symmetric", str(self.symmetric).lower()),
            *self.learnt_fields(),
        )

    def settings(self) -> dict[str, Any]:
        return {
            "inputs": input_facts(self.named),
            "loss": self.loss,
            "tie_penalty": self.tie_penalty,
            "scale": self.scale,
            **asdict(self.setting),
            "seed": self.seed,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return network_arrays(self.network_, self.scalings_)

    def card(self) -> str:
        return pairwise_card(self)

    def _describe(self, data: Learnt, trained: PairwiseTrained, margins: FloatArray) -> None:
        best = trained.best
        self.training_ = data.facts() | {
            "chosen": {"cost": best.cost, "epoch": best.epoch, "epochs": len(trained.history)},
        }
        self.agreement_ = {
            "held_out_rows": len(margins),
            "settings_tried": len(trained.history),
            "tau": best.tau,
            "by_language_pair": data.held_out_taus(margins),
        }

    @classmethod
    def load(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> PairwiseRanker:
        kept = dict(description.settings)
        named = restored_inputs(kept.pop("inputs"), folder, settings)
        metric = cls(inputs=named, name=description.name, **kept)
        metric._check_settings()
        metric.network_, metric.scalings_ = saved_network(arrays, named, metric.hidden, str(folder))
        metric.training_, metric.agreement_ = description.training, description.agreement
        metric.digest_ = description.identity
        return metric


def _shown(name: str) -> str:
    """An input as signatures show it: without the folders, which mean nothing elsewhere.

    >>> _shown("meteor:modules=exact,tables=/models/meteor"), _shown("words:/a/glove.txt")
    ('meteor:modules=exact,tables=meteor', 'words:glove.txt')
    """
    return re.sub(r"(^|[=:])/[^,:]*/([^/,:]+)", r"\1\2", name)


_SCALINGS = ("scores", "vectors")


def input_facts(named: NamedInputs) -> list[dict[str, Any]]:
    """What metric.json keeps of each input: its name, what it is, and how many numbers it gives."""
    return [
        {"name": each.name, "identity": each.identity, "numbers": _numbers(each)}
        for each in named.inputs
    ]


def restored_inputs(
    facts: Sequence[Mapping[str, Any]], folder: Path, settings: Mapping[str, str]
) -> NamedInputs:
    """The inputs of a saved ranker; `input1` and so on say where one of them is now."""
    keys = [f"input{number}" for number in range(1, len(facts) + 1)]
    check_settings(folder, settings, [*keys, "cache"])
    cache = is_cached(folder, settings)
    return NamedInputs(
        tuple(
            _restored(fact, settings.get(key), cache, may_help(folder, key))
            for fact, key in zip(facts, keys, strict=True)
        )
    )


def _restored(fact: Mapping[str, Any], now: str | None, cache: bool, advice: str) -> AnyInput:
    name = str(fact["name"])
    found = restore(
        f"The input {name} that this ranker was trained with",
        lambda: _named(name, now, cache),
        is_moved=now is not None,
        advice=advice,
    )
    given_vectors = isinstance(found, VectorInput) and found.name.startswith("precomputed:")
    same = essential_signature(found.identity) == essential_signature(str(fact["identity"]))
    if _numbers(found) != fact["numbers"] or not (same or (given_vectors and now is not None)):
        raise AdequaError(
            f"{found.name} is not the input that this ranker was trained with, which was {name}."
        )
    return found


def _named(name: str, now: str | None, cache: bool) -> AnyInput:
    """An input by its name; an encoder or a folder may lie elsewhere now."""
    if now is not None and name.partition(":")[0] in ENCODERS:
        return encoder_input(load_encoder(with_path(name, now)), cache=cache)
    (found,) = named_inputs([name if now is None else now], cache=cache).inputs
    return found


def _numbers(each: AnyInput) -> int:
    return each.encoder.dimension if isinstance(each, VectorInput) else each.count


def network_arrays(
    network: PairwiseNetwork, scalings: tuple[Scaling, Scaling]
) -> dict[str, np.ndarray]:
    """All that was learnt, as arrays to save."""
    arrays: dict[str, np.ndarray] = {"theta": network.theta}
    for name, scaling in zip(_SCALINGS, scalings, strict=True):
        arrays |= {f"{name}_centre": scaling.centre, f"{name}_reach": scaling.reach}
    return arrays


def saved_network(
    arrays: SavedArrays, named: NamedInputs, hidden: int, where: str
) -> tuple[PairwiseNetwork, tuple[Scaling, Scaling]]:
    """The network and the scalings, after a check that they fit the inputs."""
    counts = (
        sum(each.count for each in named.scores),
        sum(each.encoder.dimension for each in named.vectors),
    )
    scalings = tuple(
        _scaling(arrays, name, count, where) for name, count in zip(_SCALINGS, counts, strict=True)
    )
    shape = PairwiseShape(vector=counts[1], scores=counts[0], hidden=hidden)
    theta = saved_array(arrays, "theta", 1, where).astype(np.float64)
    check_sizes(where, theta=(theta.size, shape.size))
    return PairwiseNetwork(shape, theta), (scalings[0], scalings[1])


def _scaling(arrays: SavedArrays, name: str, count: int, where: str) -> Scaling:
    centre, reach = (
        saved_array(arrays, f"{name}_{part}", 1, where) for part in ("centre", "reach")
    )
    check_sizes(where, **{f"{name}_centre": (centre.size, count)})
    check_sizes(where, **{f"{name}_reach": (reach.size, count)})
    if (reach <= 0).any():
        raise AdequaError(f'{where}: the array "{name}_reach" is not above 0; save it again.')
    return Scaling(centre.astype(np.float64), reach.astype(np.float64))


def pairwise_card(metric: PairwiseRanker) -> str:
    """Return the card in Markdown."""
    settings = metric.settings()
    inputs = settings.pop("inputs")
    scores = metric.named.scores
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
                        for fact, each in zip(inputs, metric.named.inputs, strict=True)
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
        f"tau: {three_digits(report['tau'])}."
    )
    by_pair = report["by_language_pair"]
    if len(by_pair) > 1:
        yield table(
            ["language pair", "preferences", "tau"],
            [[pair, figures["rows"], figures["tau"]] for pair, figures in by_pair.items()],
        )
