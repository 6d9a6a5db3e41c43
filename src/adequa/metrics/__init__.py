"""Metrics: the contract, lexical metrics, and the registry by name.

The classes of lexical metrics are here under the names that sacreBLEU and the papers use:

>>> from adequa.metrics import BLEU, CHRF
>>> BLEU(lowercase=True).name, CHRF(beta=1).name
('bleu', 'chrf')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adequa.metrics.edit_rates import CDER, PER, WER, CharacTER
    from adequa.metrics.meteor.metric import METEOR
    from adequa.metrics.nist import NIST
    from adequa.metrics.sacrebleu_metrics import BLEU, CHRF, TER, SentBLEU

# Of the verbs and functions that score or compare systems.
DEFAULT_METRICS = ("adequa", "bleu", "chrf")

__all__ = [
    "BLEU",
    "CDER",
    "CHRF",
    "METEOR",
    "NIST",
    "PER",
    "TER",
    "WER",
    "CharacTER",
    "SentBLEU",
]


def __getattr__(name: str) -> Any:
    """Import a metric when it is first used: sacreBLEU and NumPy take a while."""
    if name not in __all__:
        raise AttributeError(f"module 'adequa.metrics' has no attribute {name!r}")
    from adequa.metrics.registry import METRICS  # noqa: PLC0415

    module, _, attribute = METRICS[name.lower()].target.partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return list(__all__)
