"""The small pairwise ranker that comes with the package, over lexical metrics alone."""

from __future__ import annotations

from pathlib import Path

from adequa.errors import AdequaError
from adequa.metrics import saved

FOLDER = Path(__file__).parent / "ranker"  # of the weights


def ranker_folder() -> str:
    """The folder of the ranker, as the name of a metric."""
    if not saved.is_saved(str(FOLDER)):
        raise AdequaError(
            "This copy of adequa was built without its own ranker: install it from a release, or "
            "name a ranker or a metric, such as -m chrf."
        )
    return str(FOLDER)
