"""Numbers as people read them: signs, and p-values that stay on their side of a level."""

from __future__ import annotations

from math import isfinite

_DIGITS = 4  # of a p-value
_LEAST = 10**-_DIGITS
_MOST_DIGITS = 17  # that tell all numbers apart


def signed(value: float, decimals: int) -> str:
    """A difference with its sign, which nothing that is shown as zero has.

    >>> signed(0.5, 2), signed(-0.001, 2), signed(float("inf"), 2)
    ('+0.50', '0.00', '+inf')
    """
    shown = f"{value:+.{decimals}f}"
    return shown if float(shown) else shown[1:]


def unsigned(value: float, decimals: int) -> str:
    """A score, without the sign of what is shown as zero.

    >>> unsigned(-0.001, 2), unsigned(-1.5, 2)
    ('0.00', '-1.50')
    """
    shown = f"{value:.{decimals}f}"
    return shown if float(shown) else shown.removeprefix("-")


def probability(p: float, alpha: float) -> str:
    """A p-value in four decimals; more where fewer would put it on the other side of alpha.

    >>> probability(0.0123, 0.05), probability(0.05004, 0.05), probability(0.00001, 0.05)
    ('0.0123', '0.05004', '<0.0001')
    """
    if not isfinite(p):
        return "–"
    if alpha < _LEAST and p < _LEAST:
        return f"{p:.2g}"
    if float(f"{p:.{_DIGITS}f}") == 0:
        return f"<{_LEAST:.{_DIGITS}f}"
    shown = (f"{p:.{digits}f}" for digits in range(_DIGITS, _MOST_DIGITS))
    return next((each for each in shown if (float(each) <= alpha) == (p <= alpha)), repr(p))
