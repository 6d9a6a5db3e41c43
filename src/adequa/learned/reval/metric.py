"""ReVal, the metric: how similar the dependency trees of reference and translation are.

Gupta, Orăsan and van Genabith (2015): a Tree-LSTM turns each sentence into a vector, and a small
network predicts a similarity from 1 to 5 from the product and the distance of the two vectors. It
learns from rated pairs of sentences, and from preferences that become ratings. Scores are scaled to
0–1, and the score of a system is the mean over its segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from adequa.encoders.parses import Parser
from adequa.encoders.token_vectors import TokenVectors
from adequa.errors import AdequaError
from adequa.io.text import BOOLEANS
from adequa.judgements import Preferences, Ratings
from adequa.learned.base import LearnedMetric, data_facts, rated_texts
from adequa.learned.cards import ratings_card
from adequa.learned.device import to_device, torch_device
from adequa.learned.folds import correlations, rounded
from adequa.learned.reval.data import (
    HIGHEST,
    LOWEST,
    Formula,
    TreeJudgements,
    collect_judgements,
)
from adequa.learned.reval.forest import build_forest
from adequa.learned.reval.words import (
    VECTORS,
    TreeWords,
    initial_words,
    read_words,
    restore_vectors,
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
from adequa.metrics.base import Remark, check_choice, plain
from adequa.metrics.registry import check_settings
from adequa.metrics.saved import Description
from adequa.progress import NO_PROGRESS, Progress
from adequa.runtime.batching import batches_by_length, distinct
from adequa.segments import FloatArray, IntArray, Reduction, ReferencePairs, Segments, reduce_pairs

if TYPE_CHECKING:
    from torch import Tensor

    from adequa.learned.reval.network import Structure, TreeNetwork
    from adequa.learned.reval.train import TrainedTrees, TreeData, TreeSettings

Preset: TypeAlias = Literal["modern", "paper"]

STRUCTURES = ("dependency", "chain")
# Parsed and composed at once; this bounds the memory for the vectors of their words.
_BATCH_TEXTS, _BATCH_CHARACTERS = 4096, 1 << 20
_CACHED_SENTENCES = 16_384  # about 20 MB
_TABLE = "word_vectors"  # name of the array of trained word vectors


@dataclass(eq=False)
class TreeLstm(LearnedMetric):
    """A Tree-LSTM over dependency trees, or a plain LSTM over the words.

    Parameters
    ----------
    parser: parses hypotheses and references.
    vectors: pretrained word vectors; None to learn them from scratch.
    structure: "dependency" for a Tree-LSTM, "chain" for a plain LSTM.
    preset: settings of the training: "paper", or "modern", which agrees better with people on
        development data.
    tuned: whether pretrained vectors are trained too.
    formula: how wins and losses become ratings, "share" or "smoothed".
    fewest: minimum number of comparisons of an output to learn from.
    references: whether the best or the mean score of multiple references counts.
    epochs: number of epochs; None for that of the preset.
    """

    parser: Parser
    vectors: TokenVectors | None = None
    structure: Structure = "dependency"
    preset: Preset = "modern"
    tuned: bool = False
    formula: Formula = "share"
    fewest: int = 1
    references: Reduction = "best"
    epochs: int | None = None
    seed: int = 0
    device: str = "auto"
    name: str = "tree-lstm"

    kind: ClassVar[str] = "tree-lstm"
    packages: ClassVar[tuple[str, ...]] = ("torch",)
    range = (0.0, 1.0)
    network_: TreeNetwork = field(init=False, repr=False)
    words_: TreeWords = field(init=False, repr=False)
    parser_facts_: Mapping[str, Any] = field(init=False, repr=False)  # of the training's parser
    _cache: SentenceCache = field(
        default_factory=lambda: SentenceCache(_CACHED_SENTENCES), init=False, repr=False
    )

    def fit(
        self,
        judgements: Ratings | Preferences | Sequence[Ratings | Preferences],
        progress: Progress = NO_PROGRESS,
        development: Sequence[Ratings] = (),
    ) -> TreeLstm:
        """Learn from ratings, preferences or both; the best epoch is chosen on `development`."""
        check_choice("structure", self.structure, STRUCTURES)
        check_choice("preset", self.preset, get_args(Preset))
        check_choice("references", self.references, get_args(Reduction))
        check_device(self.device)
        data = collect_judgements(
            [judgements] if isinstance(judgements, Ratings | Preferences) else judgements,
            development,
            formula=self.formula,
            min_comparisons=self.fewest,
            seed=self.seed,
            note=progress.note,
        )
        trained, words = self._train(data, progress)
        self.network_, self.words_, self.digest_ = trained.network, words, ""
        self.parser_facts_ = parser_facts(self.parser)
        self._cache = SentenceCache(_CACHED_SENTENCES)
        self._describe(data, trained)
        return self

    def _train(self, data: TreeJudgements, progress: Progress) -> tuple[TrainedTrees, TreeWords]:
        """Return the trained network, with predictions by segment, and the word vectors."""
        from adequa.learned.reval.train import preset_shape, train_trees  # noqa: PLC0415  # PyTorch

        development_pairs = rated_texts(data.development).pairs()
        trees, words = self._trees(data, development_pairs, progress)
        progress.stage(f"Learning from {len(trees.training):,} pairs of sentences")

        def criterion(predictions: FloatArray) -> float:
            return data.criterion(
                reduce_pairs(predictions, development_pairs.segment, self.references)
            )

        trained = train_trees(
            trees,
            preset_shape(self.preset, words.dimension, self.structure),
            self._training_settings(),
            criterion,
            tuned=words.trained is not None,
            seed=self.seed,
            device=torch_device(self.device),
            progress=progress,
        )
        if trained.table is not None:
            words = words.with_trained(trained.table[: len(words.words)])
        by_segment = reduce_pairs(trained.predictions, development_pairs.segment, self.references)
        return replace(trained, predictions=by_segment), words

    def _trees(
        self, data: TreeJudgements, development_pairs: ReferencePairs, progress: Progress
    ) -> tuple[TreeData, TreeWords]:
        """Return all sentences as trees with word vectors."""
        from adequa.learned.reval.train import TreeData, TreePairs  # noqa: PLC0415  # PyTorch

        pairs = rated_texts(data.training).pairs()
        sides = [
            pairs.references,
            pairs.hypotheses,
            development_pairs.references,
            development_pairs.hypotheses,
        ]
        texts, indices = distinct([text for side in sides for text in side])
        progress.stage(f"Parsing with {self.parser.name}")
        parses = self.parser.parse(texts)
        progress.stage("Looking up word vectors")
        ref, hyp, development_ref, development_hyp = np.split(
            indices, np.cumsum([len(side) for side in sides[:-1]])
        )
        # Texts are in the order of their first appearance: those of training pairs come first.
        training_words = parses.words[: parses.starts[max(ref.max(), hyp.max()) + 1]]
        trains = self.tuned or self.vectors is None
        words = initial_words(self.vectors, training_words, trains=trains)
        lexicon = words.look_up_for_training(parses)
        if not lexicon.in_vocabulary.all():
            fraction = (
                np.floor(1000 * lexicon.in_vocabulary.mean()) / 1000
            )  # never rounded up to all
            progress.note(f"{fraction:.1%} of the words have a vector of their own.")
        trees = TreeData(
            forest=build_forest(lexicon.rows, parses.parents, parses.starts),
            table=lexicon.table,
            training=TreePairs(ref, hyp, data.training.scores[pairs.segment]),
            development=TreePairs(
                development_ref, development_hyp, data.development.scores[development_pairs.segment]
            ),
        )
        return trees, words

    def _training_settings(self) -> TreeSettings:
        from adequa.learned.reval.train import preset_settings  # noqa: PLC0415  # needs PyTorch

        return preset_settings(self.preset, self.epochs)

    def _describe(self, data: TreeJudgements, trained: TrainedTrees) -> None:
        """Set `training_` and `agreement_`, for metric.json and the card."""
        human, ids = data.development.scores, data.development.ids
        language_pairs = np.array(ids["lp"]) if "lp" in ids else None
        self.training_ = data_facts(data.training) | {
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
            **correlations(human, trained.predictions, language_pairs),
        }

    def score_segments(self, segments: Segments) -> FloatArray:
        self.check_fitted()
        from adequa.learned.reval.network import compare_trees  # noqa: PLC0415  # needs PyTorch

        pairs = segments.pairs()
        texts, indices = distinct([*pairs.references, *pairs.hypotheses])
        h_ref, h_tra = np.split(indices, 2)
        similarity = compare_trees(self.network_, self._compose(texts), h_ref, h_tra)
        scores = (similarity - LOWEST) / (HIGHEST - LOWEST)
        return reduce_pairs(np.clip(scores, 0.0, 1.0), pairs.segment, self.references)

    def _compose(self, texts: Sequence[str]) -> Tensor:
        """Return h of every text; the latest are cached, since references come again."""
        network = self.network_
        h = network.w.new_empty(len(texts), network.shape.memory, requires_grad=False)
        missing = self._cache.fill(h, texts)
        lengths = [len(texts[row]) for row in missing.tolist()]
        for batch in batches_by_length(
            lengths, max_tokens=_BATCH_CHARACTERS, max_count=_BATCH_TEXTS
        ):
            rows = missing[batch]
            batch_texts = [texts[row] for row in rows.tolist()]
            h[rows] = batch_h = self._compose_batch(batch_texts)
            self._cache.put(batch_texts, batch_h)
        return h

    def _compose_batch(self, texts: Sequence[str]) -> Tensor:
        from adequa.learned.reval.network import compose_trees  # noqa: PLC0415  # needs PyTorch

        parses = self.parser.parse(texts)
        lexicon = self.words_.look_up(parses)
        forest = build_forest(lexicon.rows, parses.parents, parses.starts)
        table = to_device(lexicon.table, self.network_.w.device)
        return compose_trees(self.network_, table, forest)

    def counted_remarks(self) -> tuple[Remark, ...]:
        self.check_fitted()
        of_vectors = () if self.vectors is None else self.vectors.counted_remarks()
        other_parser = other_parser_remark(self.parser, self.parser_facts_)
        return (*plain(self.parser.remarks()), *plain(other_parser), *of_vectors)

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
            "training": asdict(self._training_settings()),
            "tuned": self.tuned,
            "formula": self.formula,
            "fewest": self.fewest,
            "references": self.references,
            "seed": self.seed,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        table = {} if self.words_.trained is None else {_TABLE: self.words_.trained}
        return self.network_.arrays() | table

    def write_further(self, folder: Path) -> Mapping[str, str]:
        return write_words(self.words_, folder)

    def card(self) -> str:
        summary = {
            "dependency": "ReVal: a Tree-LSTM over dependency trees",
            "chain": "ReVal over a plain LSTM in place of a Tree-LSTM",
        }[self.structure]
        requirements = (
            "Texts are parsed as they were for training; parses of your own, in CoNLL-U files, "
            "take the place of the parser: `-m FOLDER:parser=conllu:FILE`, and `parser2=` for a "
            "second file. "
        )
        if self.vectors is not None:
            requirements += (
                "Word vectors are found where they were when the metric was trained; where they "
                "lie elsewhere, say so: `-m FOLDER:vectors=PATH`. "
            )
        return ratings_card(self, f"{summary}.", requirements.strip(), "scores are from 0 to 1")

    @classmethod
    def load(
        cls,
        description: Description,
        arrays: Mapping[str, np.ndarray],
        folder: Path,
        /,
        **settings: str,
    ) -> TreeLstm:
        saved = description.settings
        keys = numbered_keys(VECTORS, len(saved["vectors"]))
        parsers = parser_settings(settings) or [PARSER]
        check_settings(folder, settings, [*parsers, *keys, "references", "device", "cache"])
        device = settings.get("device", "auto")
        check_device(device)
        references = settings.get("references", saved["references"])
        check_choice("references", references, get_args(Reduction))
        cache = settings.get("cache", "true").lower()
        check_choice("cache", cache, BOOLEANS)
        metric = cls(
            parser=restore_parser(saved["parser"], folder, settings, cache=BOOLEANS[cache]),
            vectors=restore_vectors(
                saved["vectors"], list(map(settings.get, keys)), folder, device
            ),
            structure=saved["shape"]["structure"],
            preset=saved["preset"],
            tuned=saved["tuned"],
            formula=saved["formula"],
            fewest=saved["fewest"],
            references="mean" if references == "mean" else "best",
            epochs=saved["training"]["epochs"],
            seed=saved["seed"],
            device=device,
            name=description.name,
        )
        metric._load_weights(saved["shape"], arrays, folder)
        metric.parser_facts_ = saved["parser"]
        metric.restore_facts(description)
        return metric

    def _load_weights(
        self, shape: Mapping[str, Any], arrays: Mapping[str, np.ndarray], folder: Path
    ) -> None:
        """Set the network and the words of a saved metric."""
        from adequa.learned.reval.network import TreeNetwork, TreeShape  # noqa: PLC0415

        weights = dict(arrays)
        self.words_ = read_words(self.vectors, weights.pop(_TABLE, None), folder)
        if not all(np.isfinite(array).all() for array in weights.values()):
            raise ValueError("the weights hold something that is no finite number")
        self.network_ = TreeNetwork.from_arrays(TreeShape(**shape), weights)
        if self.words_.dimension != self.network_.shape.dimension:
            raise ValueError("the vectors have another dimension than the network")
        self.network_.to(torch_device(self.device))


class SentenceCache:
    """The vectors of the latest sentences, in memory: at most `limit`, the oldest dropped first.

    Multiple threads may use one cache. A copy of it is empty.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rows: dict[str, int] = {}  # by text, the latest last
        self._vectors: Tensor | None = None  # one row a text
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[SentenceCache], tuple[int]]:
        return SentenceCache, (self.limit,)  # a lock cannot be copied

    def fill(self, vectors: Tensor, texts: Sequence[str]) -> IntArray:
        """Copy the vectors of cached texts into rows of `vectors`; returns the missing rows."""
        with self._lock:
            rows = np.array([self._rows.get(text, -1) for text in texts], dtype=np.int64)
            hits = np.flatnonzero(rows >= 0)
            if self._vectors is not None and len(hits):
                vectors[hits] = self._vectors[rows[hits]]
            for hit in hits.tolist():
                self._rows[texts[hit]] = self._rows.pop(texts[hit])
        return np.flatnonzero(rows < 0)

    def put(self, texts: Sequence[str], vectors: Tensor) -> None:
        """Store the vectors of distinct texts, or of the last ones if there are too many."""
        texts, vectors = texts[-self.limit :], vectors[-self.limit :]
        with self._lock:
            if self._vectors is None:
                self._vectors = vectors.new_empty(self.limit, vectors.shape[1])
            self._vectors[np.array([self._row_for(text) for text in texts], np.int64)] = vectors

    def _row_for(self, text: str) -> int:
        """Return the row of a text: its own, a free one, or that of the oldest text."""
        if text in self._rows:  # another thread was faster
            row = self._rows.pop(text)
        elif len(self._rows) < self.limit:
            row = len(self._rows)
        else:
            row = self._rows.pop(next(iter(self._rows)))
        self._rows[text] = row
        return row


def check_device(name: str) -> None:
    """Raise an error if PyTorch or the device is missing."""
    try:
        import torch  # noqa: PLC0415, F401  # an extra, and heavy
    except ImportError as error:
        raise AdequaError(
            "A Tree-LSTM needs PyTorch; install it with: pip install 'adequa[train]'"
        ) from error
    torch_device(name)
