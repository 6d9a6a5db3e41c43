"""Checks that metrics make of their settings; each failure is a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adequa.errors import AdequaError, UnknownSettingError, nearest

HIGHEST_ORDER = 100  # of n-grams: far beyond use, and far from what would fill the memory


def check_choice(setting: str, value: str, known: Iterable[str]) -> None:
    """Raise unless `value` is one of the known values of a setting."""
    choices = list(known)
    if value not in choices:
        raise AdequaError(
            f'"{value}" is not a value of {setting}; choose one of {", ".join(choices)}.'
            + nearest(value, choices)
        )


def check_between(setting: str, value: float, least: float, most: float) -> None:
    """Raise unless a number lies between two bounds; NaN does not."""
    if not least <= value <= most:
        raise AdequaError(f"{setting} must be from {least:g} to {most:g}, not {value:g}.")


def check_order(setting: str, value: int, least: int = 1) -> None:
    """Raise unless a number makes sense as the highest order of n-grams."""
    check_between(setting, value, least, HIGHEST_ORDER)


def check_settings(where: object, settings: Iterable[str], known: Sequence[str]) -> None:
    """Raise unless all settings given to a saved metric are known."""
    for key in settings:
        if key not in known:
            raise UnknownSettingError(
                f'{where} has no setting named "{key}".{nearest(key, known)} Its settings: '
                f"{', '.join(known)}.",
                str(where),
                key,
            )


def no_device(metrics: Sequence[str]) -> AdequaError:
    """What to raise where a device is named that none of the metrics makes use of."""
    listed = ", ".join(metrics) or "files of scores"
    return AdequaError(
        f"--device goes with trained metrics, and there is none among these: {listed}."
    )


def whole_number(setting: str, value: str) -> int:
    """A setting as a whole number from 1 on."""
    if not value.isdecimal() or not int(value):
        raise AdequaError(f"{setting} must be a whole number from 1 on, not {value!r}.")
    return int(value)
