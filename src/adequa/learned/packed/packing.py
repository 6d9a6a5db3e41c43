"""From a trained pair regressor to a packed metric, which scores without PyTorch.

The network becomes a graph of onnxruntime, of whole numbers unless asked otherwise. Some texts say
by which levels numbers are rounded, and between which raw scores the scale from 0 to 1 lies; others
tell how far the packed metric is from the network.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from adequa.encoders.tokens import TokenRows
from adequa.errors import AdequaError
from adequa.io.atomic import check_new_folder, digest_of
from adequa.learned.base import UNSEEN, Training
from adequa.learned.packed.card import packed_card
from adequa.learned.packed.export import GraphPrecision, exported
from adequa.learned.packed.metric import PackedPair, SurfaceWeights, by_rule, cased, raw_scores
from adequa.learned.packed.score_map import ScoreMap
from adequa.learned.pair.metric import PairRegressor
from adequa.metrics.registry import check_choice
from adequa.metrics.saved import Description, is_name, save
from adequa.runtime.pair_scores import Pair
from adequa.runtime.pair_session import MODEL, TOKENIZER, PairSession
from adequa.runtime.windows import SHORTEST
from adequa.segments import FloatArray, Segments

if TYPE_CHECKING:
    from adequa.learned.pair.network import PairModel, PairNetwork

Raw: TypeAlias = Callable[[Sequence[Pair]], FloatArray]  # of pairs, the reference first

PAIRS = 300  # by which levels are chosen; as many others test them
_REFERENCES = 500  # by which the ends of the scale are found, at most
_SEED = 0
_MOST_TOKENS = 4096  # that the network reads at once
_PACKAGES = ("onnx", "onnxruntime", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Loss:
    """What packing costs: scores from 0 to 1 beside those of the network in 32 bits."""

    tested: int  # pairs that no level was chosen by
    correlation: float | None  # None where there are too few, or all score alike
    largest_difference: float | None


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed metric that was just written."""

    folder: Path
    name: str
    precision: GraphPrecision
    size: int  # of the whole folder, in bytes
    score_map: ScoreMap
    loss: Loss


def packed(
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
    training: Training = UNSEEN,
) -> Packed:
    """Write the folder of a packed metric, whole or not at all.

    Of `texts`, translations with references of the kind that will be scored, so many different
    pairs choose the levels of whole numbers and as many others test them. Pairs of more tokens than
    `max_length`, or else than the regressor reads, will be read in windows. `data` is what the
    texts are called, and `versions` are those of the packages that the regressor was trained with.
    """
    called = name or regressor.name
    _check(regressor, called, precision, pairs)
    length = _length(regressor.model_, max_length)
    check_new_folder(folder)
    references = _different_references(texts)
    chosen, tested = _drawn(texts, pairs, training)
    model = regressor.model_
    training.stage("Writing the graph")
    rows = _rows(model, chosen)
    graph = exported(model.network, rows, max_length=length, precision=precision)
    with _opened(model, graph) as session:
        _check_tokens(session, model, chosen, rows)
        surface = surface_of(model.network)

        def raw(pairs: Sequence[Pair]) -> FloatArray:
            return raw_scores(pairs, session.score, surface, lowercase=model.lowercase).scores

        training.stage("Scoring references")
        score_map = _score_map(raw, references, called)
        training.stage("Comparing with the network")
        loss = _loss(raw, score_map, model, _fitting(session, model, tested))
        facts = {
            "from": {"name": regressor.name, "digest": regressor.digest_},
            "precision": precision,
            "data": data,
            "pairs": len(chosen) if precision == "int8" else 0,
            "references": len(references),
            "max_length": length,
            "reads_case": _reads_case(session, lowercase=model.lowercase),
            **asdict(loss),
        }
        trained_with = {"versions": dict(versions)} if versions else {}
        described = Description(
            kind=PackedPair.kind,
            name=called,
            settings=_settings(regressor, surface, score_map),
            training={**regressor.training_, **trained_with, "packed": facts},
            agreement=regressor.agreement_,
            versions={package: import_module(package).__version__ for package in _PACKAGES},
        )
        save(Path(folder), described, None, packed_card(described), _copied_from(session.folder))
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    return Packed(Path(folder), called, precision, size, score_map, loss)


def _check(regressor: PairRegressor, name: str, precision: str, pairs: int) -> None:
    regressor.check_fitted()
    check_choice("precision", precision, get_args(GraphPrecision))
    if pairs < 1 or not is_name(name):
        raise AdequaError(
            f'Packing takes 1 or more pairs and a name that can be shown, not {pairs} and "{name}".'
        )


def _length(model: PairModel, asked: int | None) -> int:
    """How many tokens of a pair are read at once."""
    least = int(model.tokenizer.num_special_tokens_to_add(pair=True)) + SHORTEST
    length = model.max_length if asked is None else asked
    if length < least:
        raise AdequaError(
            f"max_length must be {least} or more, so that a window holds a token of either text, "
            f"not {length}."
        )
    return length


def _different_references(texts: Segments) -> list[str]:
    """Some references, no two of the same words, in random order."""
    different = {
        tuple(reference.split()): reference.strip()
        for several in texts.references
        for reference in several
    }
    if len(different) < 2:  # noqa: PLR2004  # one and another
        raise AdequaError(
            f"The scale from 0 to 1 takes 2 or more different references, and these texts have "
            f"{len(different)}; give more of them."
        )
    found = list(different.values())
    order = np.random.default_rng(_SEED).permutation(len(found))[:_REFERENCES]
    return [found[at] for at in order.tolist()]


def _drawn(texts: Segments, count: int, training: Training) -> tuple[list[Pair], list[Pair]]:
    """Different pairs, reference first: so many to choose levels by, and as many to test them."""
    each = texts.pairs()
    pairs = list(
        dict.fromkeys(
            (reference.strip(), hypothesis.strip())
            for reference, hypothesis in zip(each.references, each.hypotheses, strict=True)
            if np.isnan(by_rule(reference, hypothesis))
        )
    )
    if len(pairs) < 2:  # noqa: PLR2004  # one of each
        raise AdequaError(
            "Packing reads some translations that are neither empty nor their reference, and these "
            f"texts have {len(pairs)} of them; give 2 or more, better {2 * PAIRS}."
        )
    half = min(count, len(pairs) // 2)
    if half < count:
        training.note(
            f"only {len(pairs):,} different pairs to read: {half:,} of them choose the levels, and "
            "the others test them."
        )
    order = np.random.default_rng(_SEED).permutation(len(pairs)).tolist()
    return [pairs[at] for at in order[:half]], [pairs[at] for at in order[half : 2 * half]]


def _rows(model: PairModel, pairs: Sequence[Pair]) -> TokenRows:
    return model.inputs(pairs, "fp32", _MOST_TOKENS).rows


@contextmanager
def _opened(model: PairModel, graph: bytes) -> Iterator[PairSession]:
    """The packed model as users will have it, in a folder that is gone afterwards."""
    with ExitStack() as stack:
        tokenizer = _tokenizer_file(model)
        try:
            scratch = tempfile.TemporaryDirectory(prefix="adequa-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(scratch))
            (folder / MODEL).write_bytes(graph)
            (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
        except OSError as error:
            raise AdequaError(
                f"The packed model cannot be tried out in {tempfile.gettempdir()}: "
                f"{error.strerror or error}; TMPDIR may name another folder."
            ) from error
        yield PairSession.open(folder)


def _tokenizer_file(model: PairModel) -> str:
    """The tokenizer for use without `transformers`, which neither cuts texts nor fills them up."""
    from tokenizers import Tokenizer  # noqa: PLC0415  # slow to import, and only here

    own = getattr(model.tokenizer, "backend_tokenizer", None)
    if not isinstance(own, Tokenizer):
        raise AdequaError(
            "Only a metric with a fast tokenizer (tokenizer.json) can be exported, and the encoder "
            f"of this one has a {type(model.tokenizer).__name__}."
        )
    copy = Tokenizer.from_str(own.to_str())  # the network's own stays as it is
    copy.no_truncation()
    copy.no_padding()
    written: str = copy.to_str()
    return written


def _check_tokens(
    session: PairSession, model: PairModel, pairs: Sequence[Pair], rows: TokenRows
) -> None:
    """Raise where pairs are not read as the network reads them."""
    fits = _fits(session, model, pairs, rows)
    some = list(compress(pairs, fits))
    read = session.reader.read(cased(some, lowercase=model.lowercase))
    types = np.zeros_like(rows.ids) if rows.types is None else rows.types
    there = np.repeat(fits, rows.lengths)
    same = (
        np.array_equal(read.lengths, rows.lengths[fits])
        and np.array_equal(read.ids, rows.ids[there])
        and np.array_equal(read.types, types[there])
    )
    if not same:
        raise AdequaError(
            "This metric cannot be exported: without transformers, its tokenizer reads pairs of "
            "texts otherwise than with it."
        )


def _fits(
    session: PairSession, model: PairModel, pairs: Sequence[Pair], rows: TokenRows
) -> npt.NDArray[np.bool_]:
    """Which pairs both should read alike.

    Long ones are cut by the network, and else read in windows; and a `[SEP]` in a text, which the
    network takes for its own, is else text.
    """
    whole = (rows.lengths < model.max_length) & (rows.lengths <= session.reader.max_length)
    controls = tuple(model.tokenizer.all_special_tokens)
    plain = [not any(word in text for word in controls for text in pair) for pair in pairs]
    return np.asarray(whole & plain)


def _fitting(session: PairSession, model: PairModel, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that network and session read alike."""
    rows = _rows(model, pairs)
    _check_tokens(session, model, pairs, rows)
    return list(compress(pairs, _fits(session, model, pairs, rows)))


def _score_map(raw: Raw, references: Sequence[str], name: str) -> ScoreMap:
    """From what the reference of another sentence scores in the median to what its own scores."""
    others = [*references[1:], references[0]]  # all are different: none meets itself
    unrelated = float(np.median(raw(list(zip(references, others, strict=True)))))
    itself = float(np.median(raw(list(zip(references, references, strict=True)))))
    if not unrelated < itself:
        raise AdequaError(
            f"{name} cannot be put on a scale from 0 to 1: it scores a reference itself no higher "
            f"({itself:.3f}) than the reference of another sentence ({unrelated:.3f}); train it "
            "further, best with damage or surface features."
        )
    return ScoreMap(unrelated, itself)


def _loss(raw: Raw, score_map: ScoreMap, model: PairModel, pairs: Sequence[Pair]) -> Loss:
    """How far the scores of pairs are from those that the network would have given."""
    if not pairs:
        return Loss(0, None, None)
    found = score_map(raw(pairs))
    expected = score_map(model.scores(pairs, "fp32", _MOST_TOKENS))
    differ = len(pairs) > 1 and np.ptp(found) > 0 and np.ptp(expected) > 0
    return Loss(
        tested=len(pairs),
        correlation=float(np.corrcoef(found, expected)[0, 1]) if differ else None,
        largest_difference=float(np.abs(found - expected).max()),
    )


def surface_of(network: PairNetwork) -> SurfaceWeights | None:
    """What surface features add to the scores of a network, on the scale of the ratings."""
    if network.skip is None:
        return None
    mean, spread, arcs = (
        tensor.detach().double().cpu().numpy()
        for tensor in (network.surface_mean, network.surface_spread, network.skip)
    )
    weights = float(network.scale) * arcs / spread
    return SurfaceWeights(weights, -float(mean @ weights))


def _settings(
    regressor: PairRegressor, surface: SurfaceWeights | None, score_map: ScoreMap
) -> dict[str, Any]:
    """What metric.json says of how a score is made."""
    return {
        "references": regressor.references,
        "lowercase": regressor.model_.lowercase,
        "encoder": regressor.encoder,
        "plan": regressor.plan.table(),
        "surface": None if surface is None else surface.table(),
        "map": asdict(score_map),
    }


def _reads_case(session: PairSession, *, lowercase: bool) -> bool:
    """Whether capitals change what the model is given."""
    if lowercase:
        return False
    read = session.reader.tokenizer.encode
    return bool(read("The Cat Sat").ids != read("the cat sat").ids)


def _copied_from(origin: Path) -> Callable[[Path], dict[str, str]]:
    def copied(target: Path) -> dict[str, str]:
        for name in (MODEL, TOKENIZER):
            shutil.copyfile(origin / name, target / name)
        return {name: digest_of(target / name) for name in (MODEL, TOKENIZER)}

    return copied
