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
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from adequa.datasets.load import JudgementData
from adequa.encoders.device import to_device, torch_device
from adequa.encoders.parses import Parser
from adequa.encoders.token_vectors import TokenVectors
from adequa.errors import check_seed
from adequa.judgements import Preferences, Ratings
from adequa.learned.base import (
    LearnedMetric,
    check_references,
    data_facts,
    rated_texts,
    training_judgements,
)
from adequa.learned.cards import ratings_card
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
    is_cached,
    numbered_keys,
    other_parser_remark,
    parser_facts,
    parser_settings,
    restore_parser,
)
from adequa.metrics.base import Remark, check_choice, plain_remarks
from adequa.metrics.registry import check_settings
from adequa.metrics.saved import Description
from adequa.progress import NO_PROGRESS, Progress
from adequa.runtime.batching import batches_by_length, distinct
from adequa.segments import FloatArray, Reduction, ReferencePairs, Segments, reduce_pairs

if TYPE_CHECKING:
    import torch
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
    # Vectors of the latest sentences, the latest last. It is never changed but replaced, so that
    # several threads may read it.
    _cache: Mapping[str, Tensor] = field(default_factory=dict, init=False, repr=False)

    def fit(
        self,
        judgements: JudgementData | Sequence[JudgementData],
        progress: Progress = NO_PROGRESS,
        development: Sequence[Ratings] = (),
    ) -> TreeLstm:
        """Learn from ratings, preferences or both; the best epoch is chosen on `development`."""
        check_choice("structure", self.structure, STRUCTURES)
        check_choice("preset", self.preset, get_args(Preset))
        check_choice("references", self.references, get_args(Reduction))
        check_seed(self.seed)
        device = torch_device(self.device)
        for ratings in development:
            check_references(ratings, "a Tree-LSTM")
        data = collect_judgements(
            training_judgements(judgements, "a Tree-LSTM", Ratings, Preferences),
            development,
            formula=self.formula,
            min_comparisons=self.fewest,
            seed=self.seed,
            note=progress.note,
        )
        trained, words = self._train(data, device, progress)
        self.network_, self.words_, self.digest_ = trained.network, words, ""
        self.parser_facts_ = parser_facts(self.parser)
        self._cache = {}
        self._describe(data, trained)
        return self

    def _train(
        self, data: TreeJudgements, device: torch.device, progress: Progress
    ) -> tuple[TrainedTrees, TreeWords]:
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
            device=device,
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

    def compute_segment_scores(self, segments: Segments) -> FloatArray:
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
        import torch  # noqa: PLC0415  # an extra, and heavy

        cache = self._cache
        vectors = {text: cache[text] for text in texts if text in cache}
        missing = [text for text in texts if text not in vectors]
        for rows in batches_by_length(
            list(map(len, missing)), max_tokens=_BATCH_CHARACTERS, max_count=_BATCH_TEXTS
        ):
            batch = [missing[row] for row in rows.tolist()]
            vectors |= zip(batch, self._compose_batch(batch).unbind(), strict=True)
        latest = [(text, h) for text, h in cache.items() if text not in vectors]
        self._cache = dict([*latest, *vectors.items()][-_CACHED_SENTENCES:])
        return torch.stack([vectors[text] for text in texts])

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
        return (*plain_remarks(self.parser.remarks()), *plain_remarks(other_parser), *of_vectors)

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
    def from_saved(
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
        references = settings.get("references", saved["references"])
        check_choice("references", references, get_args(Reduction))
        metric = cls(
            parser=restore_parser(
                saved["parser"], folder, settings, cache=is_cached(folder, settings)
            ),
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
        self.network_ = TreeNetwork.from_arrays(TreeShape(**shape), weights)
        self.network_.to(torch_device(self.device))
