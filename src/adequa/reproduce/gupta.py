"""ReVal (Gupta et al. 2015): Tree-LSTMs on WMT16 segments, SICK, WMT15 and whole systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from adequa.encoders.parses import cached_parser, load_parser
from adequa.encoders.token_vectors import load_token_vectors
from adequa.judgements import Judgements
from adequa.learned.reval.metric import TreeLstm
from adequa.progress import Progress
from adequa.reproduce.paper_table import ExtraColumns, PaperRow, PaperTable, RowScores, Scorer
from adequa.reproduce.scorers import (
    GLOVE_6B,
    GLOVE_840B,
    MINILM,
    ModelFiles,
    load_preferences,
    load_ratings,
    segment_scorer,
    specification,
    system_scorer,
    system_scorer_by_name,
)

if TYPE_CHECKING:
    from adequa.learned.reval.network import Structure

PREFERENCES, SIMILARITY, DEVELOPMENT = "wmt13-rr", "sick", "wmt15-da"
SICK = ExtraColumns("sick", "SICK", "sick", {"sick": "pearson"}, split="test")
EXTRA = (
    SICK,
    ExtraColumns("wmt15", "WMT15 segments", "wmt15-rr", {"wmt15": "tau-wmt14"}),
    ExtraColumns(
        "systems17",
        "WMT17 systems",
        "wmt17-systems",
        {"system": "pearson", "system-rank": "spearman"},
        level="system",
    ),
    ExtraColumns(
        "systems16",
        "WMT16 systems",
        "wmt16-rr",
        {"system-16": "pearson", "system-rank-16": "spearman"},
        level="system",
    ),
    ExtraColumns(
        "systems15",
        "WMT15 systems",
        "wmt15-rr",
        {"system-15": "pearson", "system-rank-15": "spearman"},
        level="system",
    ),
)

WordVectors = tuple[tuple[str, ModelFiles], ...]  # kind of encoder, and its file
_TOKENS: WordVectors = (("transformer", MINILM),)
_GLOVE: WordVectors = (("words", GLOVE_840B),)  # common words only
_GLOVE_AND_NAMES: WordVectors = (*_GLOVE, ("words", GLOVE_6B))


@dataclass(frozen=True, slots=True)
class RevalRecipe:
    """How the two metrics of a row are trained: on preferences and SICK, and on SICK alone."""

    name: str
    structure: Structure = "dependency"
    vectors: WordVectors = _TOKENS
    sick_vectors: WordVectors = _TOKENS  # of the metric that learns from SICK alone
    extra: tuple[ExtraColumns, ...] = EXTRA


class RevalScorer:
    """Scores with the two metrics of a row, each of which is trained on first use.

    One learns from SICK alone, as in Tai et al., and the other from preferences of WMT13 too.
    """

    def __init__(self, recipe: RevalRecipe) -> None:
        self._recipe = recipe
        self._metrics: dict[bool, TreeLstm] = {}

    def segments(self, judgements: Judgements, progress: Progress) -> RowScores:
        """Score segments with the metric that learnt from preferences too."""
        metric = self._metric(progress)
        row_scores = segment_scorer(metric)(judgements, progress)
        settings = both_settings(metric, self._metric(progress, sick_only=True))
        return replace(row_scores, settings=settings)

    def extra(self) -> dict[str, Scorer]:
        """Scorers of the extra columns."""

        def sick(judgements: Judgements, progress: Progress) -> RowScores:
            return segment_scorer(self._metric(progress, sick_only=True))(judgements, progress)

        def systems(judgements: Judgements, progress: Progress) -> RowScores:
            return system_scorer(lambda: self._metric(progress))(judgements, progress)

        scorers: dict[str, Scorer] = {
            "sick": sick,
            "wmt15": self.segments,
            "systems17": systems,
            "systems16": systems,
            "systems15": systems,
        }
        return {extra.name: scorers[extra.name] for extra in self._recipe.extra}

    def _metric(self, progress: Progress, *, sick_only: bool = False) -> TreeLstm:
        if sick_only not in self._metrics:
            self._metrics[sick_only] = _train(self._recipe, progress, sick_only=sick_only)
        return self._metrics[sick_only]


def both_settings(metric: TreeLstm, sick_metric: TreeLstm) -> str:
    """The settings of the two metrics of a row, a line each."""
    preferences = {"formula": metric.formula, "comparisons": str(metric.fewest)}
    return (
        f"preferences and SICK: {_settings(metric, preferences)}\n"
        f"SICK alone: {_settings(sick_metric, {})}"
    )


def _settings(metric: TreeLstm, more: Mapping[str, str]) -> str:
    fields = {**dict(metric.signature_fields()), **more}
    fields |= {"settings": metric.preset, "seed": str(metric.seed)}
    line = (f"{key}:{value}" for key, value in fields.items() if key not in {"weights", "version"})
    facts, pearson = metric.training_, metric.agreement_["criterion_pearson"]
    epoch = f"epoch {facts['chosen']['epoch']} of {len(facts['history'])}"
    return f"{'|'.join([metric.name, *line])}; {epoch}, {pearson:.3f} on {facts['development']}"


def _train(recipe: RevalRecipe, progress: Progress, *, sick_only: bool) -> TreeLstm:
    vectors = recipe.sick_vectors if sick_only else recipe.vectors
    metric = TreeLstm(
        parser=cached_parser(load_parser("spacy:en_core_web_md"), progress=progress.texts_scored),
        vectors=load_token_vectors([specification(kind, model) for kind, model in vectors]),
        structure=recipe.structure,
        preset="paper" if sick_only else "modern",
        fewest=9,
        name=recipe.name,
    )
    sick = load_ratings(SIMILARITY)
    if sick_only:
        return metric.fit(sick, progress)
    preferences, development = load_preferences(PREFERENCES), load_ratings(DEVELOPMENT)
    return metric.fit([preferences, sick], progress, development=[development])


def _row(recipe: RevalRecipe, label: str) -> PaperRow:
    scorer = RevalScorer(recipe)
    return PaperRow(
        name=recipe.name,
        label=label,
        scorer=scorer.segments,
        cost="hours",
        extra=scorer.extra(),
    )


def _baseline(name: str, label: str, cost: Literal["minutes", "hours"] = "minutes") -> PaperRow:
    systems = system_scorer_by_name(name)
    return PaperRow(
        name=name,
        label=label,
        scorer=segment_scorer(name),
        cost=cost,
        extra={
            "wmt15": segment_scorer(name),
            "systems17": systems,
            "systems16": systems,
            "systems15": systems,
        },
    )


REVAL = PaperTable(
    name="reval",
    title="ReVal on WMT16, SICK and systems",
    paper="Gupta, Orăsan and van Genabith (2015), Machine Translation Evaluation using Recurrent "
    "Neural Networks",
    dataset="wmt16-da",
    statistic="pearson",
    extra=EXTRA,
    rows=(
        _row(RevalRecipe("tree-lstm"), "Tree-LSTM, MiniLM tokens"),
        _row(RevalRecipe("lstm", "chain"), "plain LSTM, MiniLM tokens"),
        _row(
            RevalRecipe("tree-lstm-glove", "dependency", _GLOVE_AND_NAMES, _GLOVE),
            "Tree-LSTM, GloVe",
        ),
        _row(
            RevalRecipe("lstm-glove", "chain", _GLOVE_AND_NAMES, _GLOVE, extra=(SICK,)),
            "plain LSTM, GloVe",
        ),
        _baseline("bleu", "BLEU"),
        _baseline("ter", "TER", cost="hours"),
        _baseline("wer", "WER"),
    ),
)
