"""Pack a trained pair regressor into a metric that scores without PyTorch.

The network becomes an ONNX graph, quantised to int8 by default. Some texts calibrate the
quantisation and the scale from 0 to 1; others measure how far the packed metric is from the
network.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from adequa.encoders.surface import SURFACE
from adequa.encoders.transformer_files import TokenRows
from adequa.errors import AdequaError
from adequa.io.atomic import check_new_folder, digest_of
from adequa.learned.cards import EVALUATE_YOURSELF, model_card, shell
from adequa.learned.packed.export import GraphPrecision, export_onnx
from adequa.learned.packed.metric import (
    BEND,
    PackedPair,
    ScoreMap,
    SurfaceWeights,
    bend,
    model_inputs,
    raw_scores,
    score_by_rule,
)
from adequa.learned.pair.metric import PairRegressor
from adequa.learned.pair.results import ancestry, stage_table
from adequa.learned.pair.views import REFERENCE_ONLY
from adequa.learned.results import how_to_use
from adequa.metrics.base import check_choice
from adequa.metrics.saved import DIGITS, Description, is_name, save
from adequa.progress import NO_PROGRESS, Progress
from adequa.runtime.onnx import MODEL, TOKENIZER, PairSession
from adequa.runtime.tokens import MIN_TOKENS, Pair
from adequa.segments import FloatArray, Segments
from adequa.tables import MISSING, Column, Result, Table
from adequa.version import __version__

if TYPE_CHECKING:
    from adequa.learned.pair.network import PairModel, PairNetwork


RawScorer: TypeAlias = Callable[[Sequence[Pair]], FloatArray]  # the reference comes first

PAIRS = 300  # to calibrate the quantisation; as many others test it
_MAX_REFERENCES = 500  # to find the ends of the scale
_SEED = 0
_MAX_TOKENS = 4096  # of a batch of the network
_PACKAGES = ("onnx", "onnxruntime", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Loss:
    """How far packed scores, from 0 to 1, are from those of the network in fp32."""

    tested: int  # pairs, none of which calibrated the quantisation
    correlation: float | None  # None where there are too few, or all score alike
    largest_difference: float | None


@dataclass(frozen=True, eq=False, repr=False)
class PackingResult(Result):
    """A packed metric that was just written."""

    folder: Path
    name: str
    origin: str  # the name of the metric that it was packed from
    precision: GraphPrecision
    size: int  # of the whole folder, in bytes
    score_map: ScoreMap
    loss: Loss

    def tables(self) -> tuple[Table, ...]:
        """Size, loss of precision and scale of the metric."""
        rows = [
            ("size", f"{self.size / 1e6:.1f} MB"),
            (
                f"correlation with fp32, {self.loss.tested:,} pairs",
                _figure(self.loss.correlation, ".5f"),
            ),
            ("largest difference of a score", _figure(self.loss.largest_difference, ".2g")),
            ("raw score of an unrelated text (near 0)", f"{self.score_map.unrelated:.3f}"),
            ("raw score of the reference (near 1)", f"{self.score_map.reference:.3f}"),
        ]
        title = f"{self.name}: {self.origin}, packed in {self.precision}"
        notes = (how_to_use(str(self.folder)),)
        return (Table((Column("quantity"), Column("value", align="right")), rows, title, notes),)

    def long_table(self) -> Table:
        """The exact figures."""
        columns = (Column("quantity"), Column("value", "number"))
        return Table(columns, list(self._figures().items()))

    def to_dict(self) -> dict[str, Any]:
        """Name, folder, origin and precision of the metric, and its figures."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "packed_from": self.origin,
            "precision": self.precision,
            **self._figures(),
        }

    def _figures(self) -> dict[str, float | None]:
        return {
            "bytes": self.size,
            "tested_pairs": self.loss.tested,
            "correlation": self.loss.correlation,
            "largest_difference": self.loss.largest_difference,
            "unrelated": self.score_map.unrelated,
            "reference": self.score_map.reference,
        }


def _figure(value: float | None, form: str) -> str:
    return MISSING if value is None else format(value, form)


def pack(
    regressor: PairRegressor,
    texts: Segments,
    folder: str | Path,
    *,
    name: str = "",
    precision: GraphPrecision = "int8",
    pairs: int = PAIRS,
    max_length: int | None = None,
    data: str = "",
    versions: Mapping[str, str] | None = None,
    progress: Progress = NO_PROGRESS,
) -> PackingResult:
    """Write the folder of a packed metric, whole or not at all.

    `texts` are translations with references of the kind that will be scored: so many different
    pairs of them calibrate the quantisation, and as many others test it. Pairs of more tokens than
    `max_length`, by default as many as the regressor reads, will be read in windows. `data` is the
    name of the texts, and `versions` are those of the packages that the regressor was trained with.
    """
    name = name or regressor.name
    _check(regressor, name, precision, pairs)
    max_length = _checked_length(regressor.model_, max_length)
    check_new_folder(folder)
    references = _sample_references(texts)
    calibration, test = _sample_pairs(texts, pairs, progress)
    model = regressor.model_
    progress.stage("Writing the graph")
    rows = _rows(model, calibration)
    graph = export_onnx(model.network, rows, max_length=max_length, precision=precision)
    with _opened(model, graph) as session:
        _check_tokens(session, model, calibration, rows)
        surface = surface_weights(model.network)

        def raw(pairs: Sequence[Pair]) -> FloatArray:
            return raw_scores(pairs, session.score, surface, lowercase=model.lowercase).scores

        progress.stage("Scoring references")
        score_map = _score_map(raw, references, name)
        progress.stage("Comparing with the network")
        loss = _loss(raw, score_map, model, _comparable(session, model, test))
        facts = {
            "from": {"name": regressor.name, "digest": regressor.digest_},
            "precision": precision,
            "data": data,
            "pairs": len(calibration) if precision == "int8" else 0,
            "references": len(references),
            "max_length": max_length,
            "reads_case": _reads_case(session, lowercase=model.lowercase),
            **asdict(loss),
        }
        trained_with = {"versions": dict(versions)} if versions else {}
        description = Description(
            kind=PackedPair.kind,
            name=name,
            settings=_settings(regressor, surface, score_map),
            training={**regressor.training_, **trained_with, "packed": facts},
            agreement=regressor.agreement_,
            versions={package: import_module(package).__version__ for package in _PACKAGES},
        )
        save(Path(folder), description, None, packed_card(description), _copy_from(session.folder))
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    return PackingResult(Path(folder), name, regressor.name, precision, size, score_map, loss)


def _check(regressor: PairRegressor, name: str, precision: str, pairs: int) -> None:
    regressor.check_fitted()
    check_inputs(regressor)
    check_choice("precision", precision, get_args(GraphPrecision))
    if pairs < 1 or not is_name(name):
        raise AdequaError(
            f'Packing takes 1 or more pairs and a name that can be shown, not {pairs} and "{name}".'
        )


def check_inputs(regressor: PairRegressor) -> None:
    """Raise if a regressor reads more than the reference."""
    if regressor.inputs != REFERENCE_ONLY:
        raise AdequaError(
            f"{regressor.name} reads {' or '.join(regressor.reads)}, and so far only a metric that "
            'reads the reference alone can be exported: train it with inputs = ["reference"].'
        )


def _checked_length(model: PairModel, max_length: int | None) -> int:
    """Return the number of tokens of a pair that are read at once."""
    least = int(model.tokenizer.num_special_tokens_to_add(pair=True)) + MIN_TOKENS
    length = model.max_length if max_length is None else max_length
    if length < least:
        raise AdequaError(
            f"max_length must be {least} or more, so that a window holds a token of either text, "
            f"not {length}."
        )
    return length


def _sample_references(texts: Segments) -> list[str]:
    """Return a random sample of references, no two of the same words."""
    different = {
        tuple(reference.split()): reference.strip()
        for references in texts.references
        for reference in references
    }
    if len(different) < 2:  # noqa: PLR2004  # one and another
        raise AdequaError(
            f"The scale from 0 to 1 takes 2 or more different references, and these texts have "
            f"{len(different)}; give more of them."
        )
    references = list(different.values())
    order = np.random.default_rng(_SEED).permutation(len(references))[:_MAX_REFERENCES]
    return [references[index] for index in order.tolist()]


def _sample_pairs(texts: Segments, count: int, progress: Progress) -> tuple[list[Pair], list[Pair]]:
    """Return different pairs, reference first: so many for calibration, and as many to test."""
    all_pairs = texts.pairs()
    pairs = list(
        dict.fromkeys(
            (reference.strip(), hypothesis.strip())
            for reference, hypothesis in zip(
                all_pairs.references, all_pairs.hypotheses, strict=True
            )
            if np.isnan(score_by_rule(reference, hypothesis))
        )
    )
    if len(pairs) < 2:  # noqa: PLR2004  # one of each
        raise AdequaError(
            "Packing reads some translations that are neither empty nor their reference, and these "
            f"texts have {len(pairs)} of them; give 2 or more, better {2 * PAIRS}."
        )
    half = min(count, len(pairs) // 2)
    if half < count:
        progress.note(
            f"only {len(pairs):,} different pairs to read: {half:,} of them choose the levels, and "
            "the others test them."
        )
    order = np.random.default_rng(_SEED).permutation(len(pairs)).tolist()
    calibration, test = order[:half], order[half : 2 * half]
    return [pairs[index] for index in calibration], [pairs[index] for index in test]


def _rows(model: PairModel, pairs: Sequence[Pair]) -> TokenRows:
    return model.inputs(pairs, "fp32", _MAX_TOKENS).rows


@contextmanager
def _opened(model: PairModel, graph: bytes) -> Iterator[PairSession]:
    """Open the packed model as users will have it, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="adequa-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        (folder / MODEL).write_bytes(graph)
        (folder / TOKENIZER).write_text(_tokenizer_file(model), encoding="utf-8")
        yield PairSession.open(folder)


def _tokenizer_file(model: PairModel) -> str:
    """Return the tokenizer.json of a model, without truncation and padding."""
    from tokenizers import Tokenizer  # noqa: PLC0415  # slow to import, and only here

    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise AdequaError(
            "Only a metric with a fast tokenizer (tokenizer.json) can be exported, and the encoder "
            f"of this one has a {type(model.tokenizer).__name__}."
        )
    copy = Tokenizer.from_str(backend.to_str())  # that of the network stays as it is
    copy.no_truncation()
    copy.no_padding()
    content: str = copy.to_str()
    return content


def _check_tokens(
    session: PairSession, model: PairModel, pairs: Sequence[Pair], rows: TokenRows
) -> None:
    """Raise where the session tokenizes pairs otherwise than the network does."""
    mask = _comparable_mask(session, model, pairs, rows)
    inputs = model_inputs(list(compress(pairs, mask)), lowercase=model.lowercase)
    encoded = session.tokenizer.encode(inputs)
    types = np.zeros_like(rows.ids) if rows.types is None else rows.types
    tokens = np.repeat(mask, rows.lengths)
    same = (
        np.array_equal(encoded.lengths, rows.lengths[mask])
        and np.array_equal(encoded.ids, rows.ids[tokens])
        and np.array_equal(encoded.types, types[tokens])
    )
    if not same:
        raise AdequaError(
            "This metric cannot be exported: without transformers, its tokenizer reads pairs of "
            "texts otherwise than with it."
        )


def _comparable_mask(
    session: PairSession, model: PairModel, pairs: Sequence[Pair], rows: TokenRows
) -> npt.NDArray[np.bool_]:
    """Return the mask of pairs that network and session should tokenize alike.

    The network truncates long pairs, which the session reads in windows, and takes a `[SEP]` in a
    text for a control token, which the session takes for text.
    """
    whole = (rows.lengths < model.max_length) & (rows.lengths <= session.tokenizer.max_length)
    controls = tuple(model.tokenizer.all_special_tokens)
    plain = [not any(token in text for token in controls for text in pair) for pair in pairs]
    return np.asarray(whole & plain)


def _comparable(session: PairSession, model: PairModel, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that network and session tokenize alike."""
    rows = _rows(model, pairs)
    _check_tokens(session, model, pairs, rows)
    return list(compress(pairs, _comparable_mask(session, model, pairs, rows)))


def _score_map(raw: RawScorer, references: Sequence[str], name: str) -> ScoreMap:
    """Map the median raw score of unrelated references to 0, and that of equal texts to 1."""
    others = [*references[1:], references[0]]  # all are different: none is paired with itself
    unrelated = float(np.median(raw(list(zip(references, others, strict=True)))))
    reference = float(np.median(raw(list(zip(references, references, strict=True)))))
    if not unrelated < reference:
        raise AdequaError(
            f"{name} cannot be put on a scale from 0 to 1: it scores a reference itself no higher "
            f"({reference:.3f}) than the reference of another sentence ({unrelated:.3f}); train it "
            "further, best with damage or surface features."
        )
    return ScoreMap(unrelated, reference)


def _loss(raw: RawScorer, score_map: ScoreMap, model: PairModel, pairs: Sequence[Pair]) -> Loss:
    """Compare the scores of pairs with those of the network."""
    if not pairs:
        return Loss(0, None, None)
    scores = score_map(raw(pairs))
    expected = score_map(model.scores(pairs, "fp32", _MAX_TOKENS))
    differ = len(pairs) > 1 and np.ptp(scores) > 0 and np.ptp(expected) > 0
    return Loss(
        tested=len(pairs),
        correlation=float(np.corrcoef(scores, expected)[0, 1]) if differ else None,
        largest_difference=float(np.abs(scores - expected).max()),
    )


def surface_weights(network: PairNetwork) -> SurfaceWeights | None:
    """Return the weights of a network's surface features, on the scale of the ratings."""
    if network.skip is None:
        return None
    mean, std, arcs = (
        tensor.detach().double().cpu().numpy()
        for tensor in (network.surface_mean, network.surface_spread, network.skip)
    )
    weights = float(network.scale) * arcs / std
    return SurfaceWeights(SURFACE[: len(weights)], weights, -float(mean @ weights))


def _settings(
    regressor: PairRegressor, surface: SurfaceWeights | None, score_map: ScoreMap
) -> dict[str, Any]:
    """Return the settings of metric.json."""
    return {
        "references": regressor.references,
        "lowercase": regressor.model_.lowercase,
        "encoder": regressor.encoder,
        "plan": regressor.plan.table(),
        "surface": None if surface is None else surface.table(),
        "map": asdict(score_map),
    }


def _reads_case(session: PairSession, *, lowercase: bool) -> bool:
    """Whether capitals change the tokens."""
    if lowercase:
        return False
    encode = session.tokenizer.backend.encode
    return bool(encode("The Cat Sat").ids != encode("the cat sat").ids)


def _copy_from(origin: Path) -> Callable[[Path], dict[str, str]]:
    def copy(target: Path) -> dict[str, str]:
        for name in (MODEL, TOKENIZER):
            shutil.copyfile(origin / name, target / name)
        return {name: digest_of(target / name) for name in (MODEL, TOKENIZER)}

    return copy


_FIGURES = {"pearson": "Pearson", "accuracy": "preferences ordered rightly"}


def packed_card(metric: Description) -> str:
    """Return the card in Markdown."""
    encoder = metric.settings["encoder"]
    return model_card(
        metric.name,
        "A metric for translations into English, which reads a hypothesis and its reference "
        f"together: `{encoder}`, fine-tuned and packed with adequa {__version__}. It runs on "
        "onnxruntime, without PyTorch.",
        {
            "Use": [shell()],
            "What a score means": _meaning(metric),
            "Data and recipe": _recipe(metric),
            "Agreement with people while training": [_agreement(metric.agreement)],
            "Precision": [_precision(metric.training["packed"])],
            "Limits": ["\n".join(f"- {limit}" for limit in _limits(metric))],
            "Licence": [
                f"The weights come from `{encoder}` and the data above: look up their licences "
                "before you pass this folder on."
            ],
        },
    )


def _meaning(metric: Description) -> Iterator[str]:
    ends = metric.settings["map"]
    low, high = bend(np.array([0.0, 1.0]))
    yield (
        "Scores lie from 0 to 1, and higher is better. Near 0 is what is no better than the "
        "reference of another sentence, near 1 what is as good as the reference itself. Between "
        "them, equal steps are equal steps of the rating that people are expected to give."
    )
    yield (
        f"The raw scores {ends['unrelated']:.3f} and {ends['reference']:.3f} are the ends of a "
        f"line from 0 to 1: the medians of {metric.training['packed']['references']:,} references "
        "scored against that of another sentence, and against themselves. Within "
        f"{BEND} of either end the line is bent, so that no score leaves the range; the two "
        f"themselves become {low:.3f} and {high:.3f}."
    )
    yield (
        "Two laws hold by rule: a hypothesis that is its reference word for word scores 1, and an "
        "empty one 0. All others lie between. Where a segment has multiple references, the "
        f"{metric.settings['references']} score counts."
    )


def _recipe(metric: Description) -> Iterator[str]:
    yield stage_table(metric.training)
    pairs, origin = metric.training["pairs"], metric.training["packed"]["from"]
    longest = "largest" if "averaged" in metric.training else "last"
    packed_from = (
        f" Packed from {origin['name']}, with the weights {origin['digest'][:DIGITS]}."
        if origin["digest"]
        else ""
    )
    yield (
        f"{pairs:,} different pairs of reference and hypothesis in the {longest} training. "
        f"{''.join(ancestry(metric.training))}`metric.json` has the whole plan.{packed_from}"
    )


def _agreement(report: Mapping[str, Any]) -> str:
    development_rows = report["held_out"]
    if not any(development_rows.values()):
        return f"Nothing was held out to measure it on; {EVALUATE_YOURSELF}"
    counts = " and ".join(f"{count:,} {kind}" for kind, count in development_rows.items() if count)
    figures = [
        f"{word} {report[key]:.3f}" for key, word in _FIGURES.items() if report.get(key) is not None
    ]
    return (
        f"On {counts} that were held out: {', '.join(figures)}. The weights were chosen on them, "
        f"before the packing, so that the figures are a little too good: {EVALUATE_YOURSELF}"
    )


def _precision(facts: Mapping[str, Any]) -> str:
    precision = "Numbers have 32 bits, as in training."
    if facts["precision"] == "int8":
        precision = (
            "Products are of whole numbers of 8 bits, whose levels were chosen by "
            f"{facts['pairs']:,} pairs of {facts['data'] or 'texts without a name'}."
        )
    if facts["largest_difference"] is None:
        return precision
    correlation = facts["correlation"]
    pearson = "" if correlation is None else f" (Pearson {correlation:.5f})"
    return (
        f"{precision} On {facts['tested']:,} other pairs, scores differ from those of the network "
        f"in 32 bits by {facts['largest_difference']:.2g} at most{pearson}."
    )


def _limits(metric: Description) -> Iterator[str]:
    facts = metric.training["packed"]
    yield "English only: scores of other languages mean nothing."
    yield (
        f"Pairs of more than {facts['max_length']:,} tokens are read in windows, and what goes "
        "beyond a window is not seen together."
    )
    if not facts["reads_case"]:
        has_surface = metric.settings["surface"] is not None
        effect = "surface features beside it do" if has_surface else "case changes no score"
        yield f"The encoder reads no capitals; {effect}."
    yield "Close scores of single sentences say little: average over a system's output."
