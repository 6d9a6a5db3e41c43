"""adequa tells how good a machine translation is, in agreement with people.

>>> import adequa
>>> adequa.score(["The cat sat."], ["The cat sat."], metric="chrf").system
100.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adequa.version import __version__

__all__ = [
    "AdequaError",
    "Metric",
    "Scores",
    "Segments",
    "Signature",
    "__version__",
    "load_metric",
    "score",
]

if TYPE_CHECKING:
    from adequa.errors import AdequaError
    from adequa.metrics.contract import Metric
    from adequa.metrics.registry import load_metric
    from adequa.scoring.api import score
    from adequa.segments import Scores, Segments, Signature

# Public names are found when first used, so that `import adequa` and `adequa --help` stay quick.
_HOMES = {
    "AdequaError": "adequa.errors",
    "Metric": "adequa.metrics.contract",
    "Scores": "adequa.segments",
    "Segments": "adequa.segments",
    "Signature": "adequa.segments",
    "load_metric": "adequa.metrics.registry",
    "score": "adequa.scoring.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adequa' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
