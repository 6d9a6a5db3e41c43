"""Units and currencies: another measure of the same sort, with the number left as it is."""

from __future__ import annotations

import re
from random import Random

from adequa.damage.base import Context
from adequa.damage.edits import Edit, any_of, by_share, like, replacements

_SORTS = (
    ("millimetres", "centimetres", "metres", "kilometres", "miles", "feet", "inches", "yards"),
    ("millimeters", "centimeters", "meters", "kilometers", "miles", "feet", "inches", "yards"),
    ("millimetre", "centimetre", "metre", "kilometre", "mile", "foot", "inch", "yard"),
    ("millimeter", "centimeter", "meter", "kilometer", "mile", "foot", "inch", "yard"),
    ("grams", "kilograms", "pounds", "tonnes", "ounces"),
    ("gram", "kilogram", "tonne", "ounce"),
    ("seconds", "minutes", "hours", "days", "weeks", "months", "years", "decades", "centuries"),
    ("second", "minute", "hour", "day", "week", "month", "year", "decade", "century"),
    ("acres", "hectares"),
    ("litres", "gallons", "millilitres"),
    ("liters", "gallons", "milliliters"),
    ("dollars", "euros", "yen", "roubles", "rubles", "francs", "kroner", "crowns", "rupees"),
    ("dollar", "euro", "rouble", "ruble", "franc", "rupee"),
    ("degrees", "percent"),
    ("watts", "kilowatts", "megawatts"),
    ("volts", "amperes"),
    ("bytes", "kilobytes", "megabytes", "gigabytes", "terabytes"),
)
_SHORT = (
    ("mm", "cm", "m", "km", "mi", "ft"),
    ("mg", "g", "kg", "lb"),
    ("km/h", "mph", "m/s"),
    ("ml", "l"),
    ("kW", "MW", "GW"),
    ("kB", "MB", "GB", "TB"),
    ("°C", "°F"),
)
_MONEY = ("$", "€", "£", "¥")
_CODES = ("USD", "EUR", "GBP", "CZK", "RUB", "JPY", "CHF", "RMB", "CNY")

_SORT_OF = {word: sort for sort in reversed(_SORTS) for word in sort}
_SHORT_OF = {unit: sort for sort in _SHORT for unit in sort}
_AMOUNT = (
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|several|few|many"
    r"|half|an|per|square|cubic|of))"
)
_WORD_UNIT = re.compile(
    rf"(?P<amount>{_AMOUNT}[ -])(?P<unit>{any_of(_SORT_OF)})(?![^\W_])", re.IGNORECASE
)
_SHORT_UNIT = re.compile(rf"(?P<amount>\d[ -]?)(?P<unit>{any_of(_SHORT_OF)})(?![^\W_/])")
_SIGN = re.compile(r"[$€£¥](?=\s?\d)|(?<=\d)\s?[€£%]")
_CODE = re.compile(rf"\b(?:{any_of(_CODES)})\b")
_LOOSE = frozenset({"an", "of"})  # before these a unit must be money: "an hour" is no measure


@by_share
def unit_changed(text: str, random: Random, _context: Context) -> list[Edit]:
    """A unit or currency becomes another of its sort: "5 km" -> "5 miles", "$3" -> "€3"."""
    edits = [
        Edit(match.start("unit"), match.end("unit"), _other_word(match["unit"], random))
        for match in _WORD_UNIT.finditer(text)
        if match["amount"][:-1].lower() not in _LOOSE or "dollar" in _SORT_OF[match["unit"].lower()]
    ]
    edits += [
        Edit(match.start("unit"), match.end("unit"), _other(match["unit"], random))
        for match in _SHORT_UNIT.finditer(text)
    ]
    edits += replacements(text, _SIGN, lambda match: _other_sign(match[0], random))
    return edits + replacements(text, _CODE, lambda match: _one_but(match[0], _CODES, random))


def _other_word(unit: str, random: Random) -> str:
    return like(unit, _one_but(unit.lower(), _SORT_OF[unit.lower()], random))


def _other(unit: str, random: Random) -> str:
    return _one_but(unit, _SHORT_OF[unit], random)


def _other_sign(sign: str, random: Random) -> str:
    if sign.strip() == "%":
        return random.choice([" kilograms", " degrees", " points", " per thousand"])
    return sign.replace(sign.strip(), _one_but(sign.strip(), _MONEY, random))


def _one_but(unit: str, sort: tuple[str, ...], random: Random) -> str:
    return random.choice([other for other in sort if other != unit])
