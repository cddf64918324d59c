"""Formatters: how papers report the value of a setting in a table cell, and how numbers of ours are shown.

This module does not import torch, because the checks of the YAML files use it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from retort.registry import Registry

EMPTY = "-"  # shown for an empty list
formatters: Registry[Callable[[Any], str]] = Registry("formatter")


@formatters.register("plain")
def plain(value: Any) -> str:
    """Format a number without needless zeros: '6' for 6 and 6.0, '0.01' for 0.01. Keep text as it is.

    A Boolean becomes 'yes' or 'no'.

    Raises:
        TypeError: the value is a dictionary or a list.
    """
    if isinstance(value, (dict, list)):
        raise TypeError(f"{value!r} is no single value")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{Decimal(str(value)).normalize():f}" if isinstance(value, (int, float)) else str(value)


@formatters.register("decimal")
def decimal(value: Any) -> str:
    """Format a number with at least one decimal: '1.0' for 1, '0.07' for 0.07."""
    text = plain(value)
    return text if "." in text else f"{text}.0"


@formatters.register("scientific")
def scientific(value: Any) -> str:
    """Format a number in scientific notation: '5e-4' for 0.0005."""
    _, digits, exponent = Decimal(str(value)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:]))
    return f"{first}{'.' * bool(rest)}{rest}e{int(exponent) + len(rest)}"


@formatters.register("thousands")
def thousands(value: Any) -> str:
    """Format a number in thousands: '100k' for 100000."""
    return f"{plain(value / 1000)}k"


@formatters.register("percent")
def percent(value: Any) -> str:
    """Format a fraction as a percentage: '6%' for 0.06."""
    return f"{plain(float(Decimal(str(value)) * 100))}%"


def _set(formatter: Callable[[Any], str], values: Any) -> str:
    return f"{{{', '.join(map(formatter, values))}}}"


for _name in ("plain", "scientific"):
    formatters.register(f"{_name}-set")(functools.partial(_set, formatters[_name]))  # '{1e-5, 3e-5}', '{16, 32}'


def format_value(value: Any, formatter: str, reported_as: Mapping[str, str]) -> str:
    """Format a value as the paper reports it in a cell.

    Args:
        value: a value from the settings. The entries of a list are formatted one by one and joined with commas, unless
            the formatter takes the whole list (its name ends with '-set').
        formatter: the name of a registered formatter; an empty string means 'plain'.
        reported_as: value, formatted by 'plain' -> text that the paper reports for it. If not empty, it replaces the
            formatter.
    """
    if isinstance(value, (list, tuple)) and not formatter.endswith("-set"):
        return ", ".join(format_value(entry, formatter, reported_as) for entry in value) or EMPTY
    if reported_as and not isinstance(value, (dict, list)):
        return reported_as.get(plain(value), plain(value))
    return formatters[formatter or "plain"](value)


# --- our numbers in tables

DASH = "–"  # shown where there is no number


def number(value: float | None, decimals: int) -> str:
    """Return a number with a real minus sign (U+2212), and without one if it rounds to zero; a dash for None.

    Python rounds the binary value: 41.55 is stored as a little less, and becomes 41.5.
    """
    return DASH if value is None else f"{value:z.{decimals}f}".replace("-", "−")


def with_std(mean: float | None, std: float | None, decimals: int) -> str:
    """Return '61.2 ± 0.4', or the mean alone if there is no standard deviation."""
    return number(mean, decimals) + (f" ± {number(std, decimals)}" if mean is not None and std is not None else "")


def signed_number(difference: float, decimals: int) -> str:
    """Return a difference with its sign: '+0.3' or '−1.2', but '0.0' if it rounds to zero."""
    text = number(difference, decimals)
    return text if difference < 0 or not text.strip("0.") else f"+{text}"


def p_value(value: float, decimals: int) -> str:
    """Return '0.012', or '<0.001' if the p-value is too small for the decimals."""
    return number(value, decimals) if value >= 10**-decimals else f"<{10**-decimals:.{decimals}f}"


# --- texts


def in_words(seconds: float) -> str:
    """Return a duration as '1 h 23 min', '2 min 5 s' or '45 s'."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def condition_text(docstring: str) -> str:
    """Return the condition in 'Check that <condition>', the first line of a docstring, with a capital first letter."""
    first = docstring.partition("\n")[0].removeprefix("Check that ")
    return first[:1].upper() + first[1:]
