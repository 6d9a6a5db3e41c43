"""Trained weights that ship with adequa: its own metrics, and a small pairwise ranker."""

from __future__ import annotations

from pathlib import Path

from adequa.errors import AdequaError
from adequa.metrics.registry import DESCRIPTION, SHIPPED_METRICS
from adequa.metrics.saved import is_saved


def _folder(name: str) -> Path:
    """The folder that holds the files themselves: some installers link each of them."""
    described = Path(__file__).parent / name / DESCRIPTION
    return described.resolve().parent if described.is_symlink() else described.parent


SHIPPED = {name: _folder(name) for name in SHIPPED_METRICS}  # folders by name
RANKER_FOLDER = _folder("ranker")


def lacks_weights(name: str) -> bool:
    """Return whether this is a metric that ships, and this copy was built without its weights."""
    return name in SHIPPED and not is_saved(str(SHIPPED[name]))


def ranker_folder() -> str:
    """Return the folder of the ranker over lexical metrics, as the name of a metric."""
    if not is_saved(str(RANKER_FOLDER)):
        raise AdequaError(
            "This copy of adequa was built without its own ranker: install it from a release, or "
            "name a ranker or a metric, such as -m chrf."
        )
    return str(RANKER_FOLDER)
