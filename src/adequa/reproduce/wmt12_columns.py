"""The columns of the tables on WMT12: four language pairs and their average."""

from __future__ import annotations

from collections.abc import Mapping

from adequa.agreement.results import AVERAGE


def paper(cs: float, de: float, es: float, fr: float, average: float) -> Mapping[str, float]:
    """The figures of a row as the paper prints them."""
    return {"cs-en": cs, "de-en": de, "es-en": es, "fr-en": fr, AVERAGE: average}
