"""ReVal: reference and translation composed over their dependency trees, and how similar they are.

Gupta, Orăsan and van Genabith (2015): a Tree-LSTM makes a vector of each sentence, and a small
network predicts from the product and the distance of the two a similarity from 1 to 5. It learns
from rated pairs of sentences, and from preferences that become ratings. Scores are brought to 0–1,
and that of a system is the mean over its segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from adequa.encoders.parses import Parser
from adequa.encoders.token_vectors import TokenVectors
from adequa.errors import AdequaError
from adequa.io.truth import TRUTH
from adequa.judgements import Preferences, Ratings
from adequa.learned.base import SILENT, LearnedMetric, Training, data_facts, rated_texts
from adequa.learned.cards import ratings_card
from adequa.learned.device import to_device, training_device
from adequa.learned.folds import correlations, rounded
from adequa.learned.references import Reduction, reduce_pairs
from adequa.learned.reval.data import HIGHEST, LOWEST, Formula, TreeJudgements, collect
from adequa.learned.reval.forest import build_forest
from adequa.learned.reval.words import (
    VECTORS,
    TreeWords,
    read_words,
    restored_vectors,
    starting_words,
    vector_facts,
    write_words,
)
from adequa.learned.saved import (
    PARSER,
    numbered_keys,
    other_parser_remark,
    parser_facts,
    parser_settings,
    restore_parser,
)
from adequa.metrics.registry import check_choice, check_settings
from adequa.metrics.saved import Description
from adequa.remarks import Remark, plain
from adequa.runtime.batching import batches_by_length, distinct
from adequa.segments import FloatArray, IntArray, ReferencePairs, Segments

if TYPE_CHECKING:
    from torch import Tensor

    from adequa.learned.reval.network import Structure, TreeNetwork, TreeShape
    from adequa.learned.reval.train import Trained, TreeData, TreeSetting

Preset: TypeAlias = Literal["modern", "paper"]

DEVELOPMENT = 0.1  # the share of ratings that the epoch is chosen on, where none are given for it
STRUCTURES = ("dependency", "chain")
# Parsed and composed at once, which bounds the memory that their words take.
_TEXTS, _CHARACTERS = 4096, 1 << 20
_RECENT = 16_384  # texts whose h is kept, some 20 MB
_TABLE = "word_vectors"  # the array of learnt vectors


class RecentVectors:
    """One row a text, in one tensor. Several threads may use it; copies of it begin empty."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rows: dict[str, int] = {}  # the latest last
        self._vectors: Tensor | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[RecentVectors], tuple[int]]:
        return RecentVectors, (self.limit,)  # a lock cannot be copied, and vectors are made again

    def fill(self, vectors: Tensor, texts: Sequence[str]) -> IntArray:
        """Write the vectors of those texts that are there; returns the places of all others."""
        with self._lock:
            rows = np.array([self._rows.get(text, -1) for text in texts], dtype=np.int64)
            there = np.flatnonzero(rows >= 0)
            if self._vectors is not None and len(there):
                vectors[there] = self._vectors[rows[there]]
            for at in there.tolist():
                self._rows[texts[at]] = self._rows.pop(texts[at])
        return np.flatnonzero(rows < 0)

    def put(self, texts: Sequence[str], vectors: Tensor) -> None:
        """Keep the vectors of different texts, or of the last of them where they are too many."""
        texts, vectors = texts[-self.limit :], vectors[-self.limit :]
        with self._lock:
            if self._vectors is None:
                self._vectors = vectors.new_empty(self.limit, vectors.shape[1])
            self._vectors[np.array([self._place(text) for text in texts], np.int64)] = vectors

    def _place(self, text: str) -> int:
        """The row for a text: its own, a free one, or that of the oldest."""
        if text in self._rows:  # another thread was quicker
            row = self._rows.pop(text)
        elif len(self._rows) < self.limit:
            row = len(self._rows)
        else:
            row = self._rows.pop(next(iter(self._rows)))
        self._rows[text] = row
        return row


@dataclass(eq=False)
class TreeLstm(LearnedMetric):
    """A Tree-LSTM over dependency trees, or a plain LSTM (`structure` is chain).

    `preset` names the settings of the training: "paper", or "modern", which agree better with
    people on development data. `epochs`, where given, takes the place of theirs.
    """

    parser: Parser
    vectors: TokenVectors | None = None  # None: learnt, like all else
    structure: Structure = "dependency"
    preset: Preset = "modern"
    tuned: bool = False  # whether vectors from outside are trained too
    formula: Formula = "share"  # by which preferences become ratings
    fewest: int = 1  # comparisons of an output that is learnt from
    references: Reduction = "best"  # which counts where a segment has several
    epochs: int | None = None
    seed: int = 0
    device: str = "auto"
    name: str = "tree-lstm"

    kind: ClassVar[str] = "tree-lstm"
    packages: ClassVar[tuple[str, ...]] = ("torch",)
    range = (0.0, 1.0)
    network_: TreeNetwork = field(init=False, repr=False)
    words_: TreeWords = field(init=False, repr=False)
    # Of the parser that it was trained with, whichever it scores with now.
    parser_facts_: Mapping[str, Any] = field(init=False, repr=False)
    _recent: RecentVectors = field(
        default_factory=lambda: RecentVectors(_RECENT), init=False, repr=False
    )

    def fit(
        self,
        judgements: Ratings | Preferences | Sequence[Ratings | Preferences],
        training: Training = SILENT,
        development: Sequence[Ratings] = (),
    ) -> TreeLstm:
        """Learn from ratings, preferences or both; the best epoch is chosen on `development`."""
        check_choice("structure", self.structure, STRUCTURES)
        check_choice("preset", self.preset, get_args(Preset))
        check_choice("references", self.references, get_args(Reduction))
        check_device(self.device)
        given = [judgements] if isinstance(judgements, Ratings | Preferences) else judgements
        data = collect(
            given,
            development,
            formula=self.formula,
            fewest=self.fewest,
            share=DEVELOPMENT,
            seed=self.seed,
            note=training.note,
        )
        trained, words = self._trained(data, training)
        self.network_, self.words_, self.digest_ = trained.network, words, ""
        self.parser_facts_ = parser_facts(self.parser)
        self._recent = RecentVectors(_RECENT)
        self._describe(data, trained)
        return self

    def _trained(self, data: TreeJudgements, training: Training) -> tuple[Trained, TreeWords]:
        from adequa.learned.reval.train import Report, train_trees  # noqa: PLC0415

        held_out = rated_texts(data.development).pairs()
        trees, words = self._trees(data, held_out, training)
        training.stage(f"Learning from {len(trees.learnt):,} pairs of sentences")

        def criterion(predictions: FloatArray) -> float:
            return data.criterion(reduce_pairs(predictions, held_out.segment, self.references))

        trained = train_trees(
            trees,
            self._shape(words.dimension),
            self.setting(),
            criterion,
            tuned=words.learnt is not None,
            seed=self.seed,
            device=training_device(self.device),
            report=Report(training.advance, training.status),
        )
        if trained.table is not None:
            words = words.with_vectors(trained.table[: len(words.words)])
        by_segment = reduce_pairs(trained.predictions, held_out.segment, self.references)
        return replace(trained, predictions=by_segment), words

    def _trees(
        self, data: TreeJudgements, held_out: ReferencePairs, training: Training
    ) -> tuple[TreeData, TreeWords]:
        """All sentences as trees of words with vectors."""
        from adequa.learned.reval.train import TreeData, TreePairs  # noqa: PLC0415

        learnt = rated_texts(data.learnt).pairs()
        sides = [learnt.references, learnt.hypotheses, held_out.references, held_out.hypotheses]
        texts, at = distinct([text for side in sides for text in side])
        training.stage(f"Parsing with {self.parser.name}")
        parses = self.parser.parse(texts)
        training.stage("Looking up word vectors")
        first, second, third, fourth = np.split(at, np.cumsum([len(side) for side in sides[:-1]]))
        # Texts come in the order of their first appearance: those that are learnt before others.
        learnt_words = parses.words[: parses.starts[max(first.max(), second.max()) + 1]]
        learns = self.tuned or self.vectors is None
        words = starting_words(self.vectors, learnt_words, learns=learns)
        found = words.look_up_for_training(parses)
        if not found.known.all():
            share = np.floor(1000 * found.known.mean()) / 1000  # never all
            training.note(f"{share:.1%} of the words have a vector of their own.")
        trees = TreeData(
            forest=build_forest(found.rows, parses.parents, parses.starts),
            table=found.table,
            learnt=TreePairs(first, second, data.learnt.scores[learnt.segment]),
            development=TreePairs(third, fourth, data.development.scores[held_out.segment]),
        )
        return trees, words

    def setting(self) -> TreeSetting:
        """How the network is trained."""
        from adequa.learned.reval.train import setting_of  # noqa: PLC0415  # needs PyTorch

        return setting_of(self.preset, self.epochs)

    def _shape(self, dimension: int) -> TreeShape:
        from adequa.learned.reval.train import shape_of  # noqa: PLC0415  # needs PyTorch

        return shape_of(self.preset, dimension, self.structure)

    def _describe(self, data: TreeJudgements, trained: Trained) -> None:
        human, ids = data.development.scores, data.development.ids
        pairs = np.array(ids["lp"]) if "lp" in ids else None
        self.training_ = data_facts(data.learnt) | {
            "development": data.development.name,
            "chosen": {"epoch": trained.epoch},
            "history": [dict(epoch) for epoch in trained.history],
        }
        self.agreement_ = {
            "held_out_rows": len(human),
            "tried": "epoch",
            "settings_tried": len(trained.history),
            "folds": 0,
            "criterion_pearson": rounded(trained.criterion),
            **correlations(human, trained.predictions, pairs),
        }

    def score_segments(self, segments: Segments) -> FloatArray:
        self.check_fitted()
        from adequa.learned.reval.train import compared  # noqa: PLC0415  # needs PyTorch

        pairs = segments.pairs()
        texts, at = distinct([*pairs.references, *pairs.hypotheses])
        h_ref, h_tra = np.split(at, 2)
        similarity = compared(self.network_, self._composed(texts), h_ref, h_tra)
        scores = (similarity - LOWEST) / (HIGHEST - LOWEST)
        return reduce_pairs(np.clip(scores, 0.0, 1.0), pairs.segment, self.references)

    def _composed(self, texts: Sequence[str]) -> Tensor:
        """h of every text; those of the texts before are kept, since references come again."""
        network = self.network_
        h = network.w.new_empty(len(texts), network.shape.memory, requires_grad=False)
        lacking = self._recent.fill(h, texts)
        lengths = [len(texts[at]) for at in lacking.tolist()]
        for batch in batches_by_length(lengths, max_tokens=_CHARACTERS, max_count=_TEXTS):
            rows = lacking[batch]
            some = [texts[at] for at in rows.tolist()]
            h[rows] = new = self._new(some)
            self._recent.put(some, new)
        return h

    def _new(self, texts: Sequence[str]) -> Tensor:
        from adequa.learned.reval.train import composed  # noqa: PLC0415

        parses = self.parser.parse(texts)
        words = self.words_.look_up(parses)
        forest = build_forest(words.rows, parses.parents, parses.starts)
        return composed(self.network_, to_device(words.table, self.network_.w.device), forest)

    def noticed(self) -> tuple[Remark, ...]:
        outside = () if self.vectors is None else self.vectors.noticed()
        another = other_parser_remark(self.parser, self.parser_facts_)
        return (*plain(self.parser.remarks()), *plain(another), *outside)

    def signature_fields(self) -> tuple[tuple[str, str], ...]:
        return (
            ("parser", self.parser.name),
            ("vectors", "learnt" if self.vectors is None else self.vectors.name),
            ("structure", self.structure),
            ("references", self.references),
            *self.learnt_fields(),
        )

    def settings(self) -> dict[str, Any]:
        return {
            "parser": dict(self.parser_facts_),
            "vectors": vector_facts(self.vectors),
            "shape": asdict(self.network_.shape),
            "preset": self.preset,
            "training": asdict(self.setting()),
            "tuned": self.tuned,
            "formula": self.formula,
            "fewest": self.fewest,
            "references": self.references,
            "seed": self.seed,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        learnt = {} if self.words_.learnt is None else {_TABLE: self.words_.learnt}
        return self.network_.arrays() | learnt

    def write_further(self, folder: Path) -> Mapping[str, str]:
        return write_words(self.words_, folder)

    def card(self) -> str:
        what = {
            "dependency": "ReVal: a Tree-LSTM over dependency trees",
            "chain": "ReVal over a plain LSTM in place of a Tree-LSTM",
        }[self.structure]
        use = (
            "Texts are parsed as they were for training; parses of your own, in CoNLL-U files, "
            "take the place of the parser: `-m FOLDER:parser=conllu:FILE`, and `parser2=` for a "
            "second file. "
        )
        if self.vectors is not None:
            use += (
                "Word vectors are found where they were when the metric was trained; where they "
                "lie elsewhere, say so: `-m FOLDER:vectors=PATH`. "
            )
        return ratings_card(self, f"{what}.", use.strip(), "scores are from 0 to 1")

    @classmethod
    def load(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> TreeLstm:
        kept = description.settings
        keys = numbered_keys(VECTORS, len(kept["vectors"]))
        parsers = parser_settings(settings) or [PARSER]
        check_settings(folder, settings, [*parsers, *keys, "references", "device", "cache"])
        device = settings.get("device", "auto")
        check_device(device)
        references = settings.get("references", kept["references"])
        check_choice("references", references, get_args(Reduction))
        cache = settings.get("cache", "true").lower()
        check_choice("cache", cache, TRUTH)
        metric = cls(
            parser=restore_parser(kept["parser"], folder, settings, cache=TRUTH[cache]),
            vectors=restored_vectors(
                kept["vectors"], list(map(settings.get, keys)), folder, device
            ),
            structure=kept["shape"]["structure"],
            preset=kept["preset"],
            tuned=kept["tuned"],
            formula=kept["formula"],
            fewest=kept["fewest"],
            references="mean" if references == "mean" else "best",
            epochs=kept["training"]["epochs"],
            seed=kept["seed"],
            device=device,
            name=description.name,
        )
        metric._take(kept["shape"], arrays, folder)
        metric.parser_facts_ = kept["parser"]
        metric.training_, metric.agreement_ = description.training, description.agreement
        metric.digest_ = description.identity
        return metric

    def _take(
        self, shape: Mapping[str, Any], arrays: Mapping[str, np.ndarray], folder: Path
    ) -> None:
        """The network and the words of a saved metric."""
        from adequa.learned.reval.network import TreeNetwork, TreeShape  # noqa: PLC0415

        weights = dict(arrays)
        self.words_ = read_words(self.vectors, weights.pop(_TABLE, None), folder)
        if not all(np.isfinite(array).all() for array in weights.values()):
            raise ValueError("the weights hold something that is no finite number")
        self.network_ = TreeNetwork.from_arrays(TreeShape(**shape), weights)
        if self.words_.dimension != self.network_.shape.dimension:
            raise ValueError("the vectors have another dimension than the network")
        self.network_.to(training_device(self.device))


def check_device(name: str) -> None:
    """Raise where PyTorch or the device is not there."""
    with _needed_packages():
        training_device(name)


@contextmanager
def _needed_packages() -> Iterator[None]:
    try:
        import torch  # noqa: PLC0415, F401  # an extra, and heavy

        yield
    except ImportError as error:
        raise AdequaError(
            "A Tree-LSTM needs PyTorch; install it with: pip install 'adequa[train]'"
        ) from error


__all__ = ["DEVELOPMENT", "STRUCTURES", "VECTORS", "Preset", "TreeLstm", "check_device"]
