"""SVR, RUSE and the BERT regressor (Shimanaka et al. 2018 and 2019) on WMT16 and WMT17.

Two tables of our own follow, which measure pair regressors on whole systems of WMT17 and WMT18.
"""

from __future__ import annotations

from typing import Literal

from adequa.agreement.results import POOLED
from adequa.learned.blend import Blend
from adequa.learned.embedding.metric import EmbeddingRegressor
from adequa.reproduce.paper_table import PaperRow, PaperTable, Scorer
from adequa.reproduce.plans import (
    DISTILLED,
    ENSEMBLE,
    PREFERENCES,
    fine_tuned_by_pair,
    trained_by_plan,
)
from adequa.reproduce.scorers import (
    GLOVE_6B,
    GLOVE_840B,
    MPNET,
    RATINGS,
    RECIPES,
    ModelFiles,
    leave_one_pair_out,
    load_encoder,
    segment_scorer,
    system_scorer_by_name,
    trained_on,
)


def _svr(kind: str, *models: ModelFiles, settings: str = "") -> Scorer:
    def create() -> EmbeddingRegressor:
        return EmbeddingRegressor(load_encoder(kind, *models, settings=settings), name="svr")

    return leave_one_pair_out(create, others=("wmt15-da",))


WMT16 = PaperTable(
    name="wmt16",
    title="WMT16, segment-level Pearson",
    paper="Shimanaka, Kajiwara and Komachi (2018), Metric for Automatic Machine Translation "
    "Evaluation based on Universal Sentence Representations",
    number="Table 2",
    dataset="wmt16-da",
    statistic="pearson",
    rows=(
        PaperRow("sentbleu", "SentBLEU", segment_scorer("sentbleu")),
        PaperRow(
            "blend",
            "Blend",
            leave_one_pair_out(lambda: Blend(name="blend"), others=("wmt15-da",)),
            cost="hours",
        ),
        PaperRow("svr-skip-thought", "SVR + Skip-Thought", None),
        PaperRow("svr-infersent", "SVR + InferSent", None),
        PaperRow("svr-infersent-skip-thought", "SVR + InferSent + Skip-Thought", None),
        PaperRow("svr-glove", "SVR + GloVe", _svr("words", GLOVE_840B), cost="hours"),
        PaperRow(
            "svr-mpnet-layers",
            "SVR + mpnet, layers 6, 7, 12",
            _svr("transformer", MPNET, settings="layers=6+7+12"),
            cost="hours",
        ),
        PaperRow(
            "pair-mpnet-preferences-ratings",
            "pair regressor, mpnet: preferences + ratings",
            fine_tuned_by_pair("wmt16-preferences", "wmt16-ratings", others=("wmt15-da",)),
            cost="gpu",
        ),
    ),
)


def _ruse(
    kind: str, *models: ModelFiles, settings: str = "", grid: Literal["scaled", "paper"] = "paper"
) -> Scorer:
    def create() -> EmbeddingRegressor:
        encoder = load_encoder(kind, *models, settings=settings)
        return EmbeddingRegressor(encoder, model="mlp", grid=grid, name="ruse")

    return trained_on(create, RATINGS)


# The labels of the metrics that ship. Only the first edition keeps to the years before the tests.
_SHIPPED = {
    "adequa-1": "adequa-1 (first edition)",
    "adequa-fast": "adequa-fast (shipped; ratings of 2020–21 too)",
    "adequa": "adequa (shipped; ratings of 2020–21 too)",
}

WMT17 = PaperTable(
    name="wmt17",
    title="WMT17, segment-level Pearson",
    paper="Shimanaka, Kajiwara and Komachi (2019), "
    "Machine Translation Evaluation with BERT Regressor",
    number="Tables 2 and 3",
    dataset="wmt17-da",
    statistic="pearson",
    rows=(
        PaperRow("sentbleu", "SentBLEU", segment_scorer("sentbleu")),
        PaperRow("blend", "Blend", trained_on(lambda: Blend(name="blend"), RATINGS), cost="hours"),
        PaperRow("ruse-wmt18", "RUSE", None),
        PaperRow("ruse-glove", "RUSE + GloVe", _ruse("words", GLOVE_840B, GLOVE_6B, grid="scaled")),
        PaperRow("ruse-quick-thought", "RUSE + Quick-Thought", None),
        PaperRow("ruse-bert", "RUSE + BERT", None),
        PaperRow("ruse-mpnet", "RUSE + mpnet", _ruse("transformer", MPNET), cost="gpu"),
        PaperRow(
            "ruse-mpnet-layers",
            "RUSE + mpnet, layers 5, 7, 12",
            _ruse("transformer", MPNET, settings="layers=5+7+12"),
            cost="gpu",
        ),
        PaperRow(
            "svr-mpnet-layers",
            "SVR + mpnet, layers 5, 7, 12",
            trained_on(RECIPES["svr-mpnet-layers"].create, RATINGS),
            cost="hours",
        ),
        PaperRow("frozen-pair-bert", "frozen pair encoder, BERT", None),
        PaperRow(
            "frozen-pair-mpnet-layers",
            "frozen pair encoder, mpnet, layers 5, 7, 8",
            _ruse("transformer-pair", MPNET, settings="layers=5+7+8"),
            cost="gpu",
        ),
        PaperRow("bert", "BERT regressor", None),
        PaperRow(
            "pair-minilm-ratings",
            "pair regressor, MiniLM: ratings",
            trained_by_plan("minilm-ratings"),
            cost="hours",
        ),
        PaperRow(
            "pair-mpnet-ratings",
            "pair regressor, mpnet: ratings",
            trained_by_plan("wmt17-ratings"),
            cost="gpu",
        ),
        PREFERENCES,
        DISTILLED,
        ENSEMBLE,
        *(PaperRow(name, label, segment_scorer(name)) for name, label in _SHIPPED.items()),
    ),
)


def _systems(year: int, count: int, *rows: PaperRow) -> PaperTable:
    return PaperTable(
        name=f"wmt{year}-systems",
        title=f"WMT{year}, pairwise accuracy on {count} systems",
        paper="a table of our own; human scores are direct assessments of the WMT news task",
        dataset=f"wmt{year}-systems",
        statistic="accuracy",
        rows=(
            PaperRow(name="bleu", label="BLEU", scorer=system_scorer_by_name("bleu")),
            PaperRow(name="chrf", label="chrF", scorer=system_scorer_by_name("chrf")),
            PREFERENCES,
            DISTILLED,
            *rows,
        ),
        main=POOLED,
    )


WMT17_SYSTEMS = _systems(17, 65)
WMT18_SYSTEMS = _systems(
    18,
    71,
    *(PaperRow(name, label, system_scorer_by_name(name)) for name, label in _SHIPPED.items()),
)
