"""adequa scores machine translations the way human raters do.

>>> import adequa
>>> adequa.score(["The cat sat."], ["The cat sat."], metric="chrf").system
100.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adequa.version import __version__

__all__ = [
    "AdequaError",
    "AdequaWarning",
    "AnalysisSettings",
    "Blend",
    "Client",
    "Comparison",
    "ComparisonSettings",
    "DamageSettings",
    "DifferenceSettings",
    "EmbeddingRegressor",
    "Ensemble",
    "Explanation",
    "GateRules",
    "LanguageWarning",
    "Metric",
    "PairRegressor",
    "PairwiseRanker",
    "Plan",
    "Preferences",
    "Protocol",
    "RatedSystems",
    "Ratings",
    "ScoreBands",
    "ScoreFile",
    "Scores",
    "ScoringResult",
    "Segments",
    "Selection",
    "Signature",
    "TargetLanguage",
    "TreeLstm",
    "__version__",
    "analyse",
    "clear_caches",
    "compare",
    "confidence",
    "coverage",
    "detect_language",
    "differences",
    "evaluate",
    "explain",
    "filter_corpus",
    "fit_bands",
    "fit_confidence",
    "gate",
    "load_dataset",
    "load_encoder",
    "load_metric",
    "load_parser",
    "load_token_vectors",
    "mbr",
    "rank",
    "read",
    "rerank",
    "robustness",
    "score",
    "score_corpus",
]

if TYPE_CHECKING:
    from adequa.agreement.bands import fit_bands
    from adequa.agreement.confidence import fit_confidence
    from adequa.agreement.coverage import coverage
    from adequa.agreement.damaged_pairs import DamageSettings
    from adequa.agreement.error_analysis import AnalysisSettings, analyse
    from adequa.agreement.evaluate import evaluate
    from adequa.agreement.protocol import Protocol
    from adequa.agreement.robustness import robustness
    from adequa.agreement.score_differences import DifferenceSettings, differences
    from adequa.agreement.selection import Selection
    from adequa.comparison.compare import compare
    from adequa.comparison.gate import GateRules, gate
    from adequa.comparison.ranking import rank
    from adequa.comparison.results import Comparison
    from adequa.datasets.load import load_dataset
    from adequa.encoders.parses import load_parser
    from adequa.encoders.registry import load_encoder
    from adequa.encoders.token_vectors import load_token_vectors
    from adequa.errors import AdequaError, AdequaWarning, LanguageWarning
    from adequa.explanation.explain import explain
    from adequa.explanation.results import Explanation
    from adequa.io.read import read
    from adequa.io.score_files import ScoreFile
    from adequa.judgements import Preferences, RatedSystems, Ratings
    from adequa.languages import TargetLanguage, detect_language
    from adequa.learned.blend import Blend
    from adequa.learned.embedding.metric import EmbeddingRegressor
    from adequa.learned.ensemble import Ensemble
    from adequa.learned.pair.metric import PairRegressor
    from adequa.learned.pair.plan import Plan
    from adequa.learned.pairwise.metric import PairwiseRanker
    from adequa.learned.reval.metric import TreeLstm
    from adequa.metrics.base import Metric, Scores
    from adequa.metrics.registry import clear_caches, load_metric
    from adequa.scoring.api import score
    from adequa.scoring.bands import ScoreBands
    from adequa.scoring.confidence import confidence
    from adequa.scoring.corpus import score_corpus
    from adequa.scoring.filter import filter_corpus
    from adequa.scoring.mbr import mbr
    from adequa.scoring.rerank import rerank
    from adequa.scoring.results import ScoringResult
    from adequa.segments import Segments, Signature
    from adequa.service.client import Client
    from adequa.statistics.settings import ComparisonSettings

# Public names are imported when first used, so that `import adequa` and `adequa --help` stay quick.
_MODULES = {
    "AdequaError": "adequa.errors",
    "AdequaWarning": "adequa.errors",
    "AnalysisSettings": "adequa.agreement.error_analysis",
    "Blend": "adequa.learned.blend",
    "Client": "adequa.service.client",
    "Comparison": "adequa.comparison.results",
    "ComparisonSettings": "adequa.statistics.settings",
    "DamageSettings": "adequa.agreement.damaged_pairs",
    "DifferenceSettings": "adequa.agreement.score_differences",
    "EmbeddingRegressor": "adequa.learned.embedding.metric",
    "Ensemble": "adequa.learned.ensemble",
    "Explanation": "adequa.explanation.results",
    "GateRules": "adequa.comparison.gate",
    "LanguageWarning": "adequa.errors",
    "Metric": "adequa.metrics.base",
    "PairRegressor": "adequa.learned.pair.metric",
    "PairwiseRanker": "adequa.learned.pairwise.metric",
    "Plan": "adequa.learned.pair.plan",
    "Preferences": "adequa.judgements",
    "Protocol": "adequa.agreement.protocol",
    "RatedSystems": "adequa.judgements",
    "Ratings": "adequa.judgements",
    "ScoreBands": "adequa.scoring.bands",
    "ScoreFile": "adequa.io.score_files",
    "Scores": "adequa.metrics.base",
    "ScoringResult": "adequa.scoring.results",
    "Segments": "adequa.segments",
    "Selection": "adequa.agreement.selection",
    "Signature": "adequa.segments",
    "TargetLanguage": "adequa.languages",
    "TreeLstm": "adequa.learned.reval.metric",
    "analyse": "adequa.agreement.error_analysis",
    "clear_caches": "adequa.metrics.registry",
    "compare": "adequa.comparison.compare",
    "confidence": "adequa.scoring.confidence",
    "coverage": "adequa.agreement.coverage",
    "detect_language": "adequa.languages",
    "differences": "adequa.agreement.score_differences",
    "evaluate": "adequa.agreement.evaluate",
    "explain": "adequa.explanation.explain",
    "filter_corpus": "adequa.scoring.filter",
    "fit_bands": "adequa.agreement.bands",
    "fit_confidence": "adequa.agreement.confidence",
    "gate": "adequa.comparison.gate",
    "load_dataset": "adequa.datasets.load",
    "load_encoder": "adequa.encoders.registry",
    "load_metric": "adequa.metrics.registry",
    "load_parser": "adequa.encoders.parses",
    "load_token_vectors": "adequa.encoders.token_vectors",
    "mbr": "adequa.scoring.mbr",
    "rank": "adequa.comparison.ranking",
    "read": "adequa.io.read",
    "rerank": "adequa.scoring.rerank",
    "robustness": "adequa.agreement.robustness",
    "score": "adequa.scoring.api",
    "score_corpus": "adequa.scoring.corpus",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'adequa' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
