"""Formatters: how papers print the value of a setting in a table cell.

This module does not import torch, because the checks of the YAML files use it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from retort.registry import Registry

NONE = "-"  # printed for an empty list
forms: Registry[Callable[[Any], str]] = Registry("form")


@forms.register("plain")
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


@forms.register("decimal")
def decimal(value: Any) -> str:
    """Format a number with at least one decimal: '1.0' for 1, '0.07' for 0.07."""
    text = plain(value)
    return text if "." in text else f"{text}.0"


@forms.register("scientific")
def scientific(value: Any) -> str:
    """Format a number in scientific notation: '5e-4' for 0.0005."""
    _, digits, exponent = Decimal(str(value)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:]))
    return f"{first}{'.' * bool(rest)}{rest}e{int(exponent) + len(rest)}"


@forms.register("thousands")
def thousands(value: Any) -> str:
    """Format a number in thousands: '100k' for 100000."""
    return f"{plain(value / 1000)}k"


@forms.register("commas")
def commas(value: Any) -> str:
    """Format a number with a comma between groups of three digits: '130,319' for 130319."""
    return f"{value:,}"


@forms.register("percent")
def percent(value: Any) -> str:
    """Format a fraction as a percentage: '6%' for 0.06."""
    return f"{plain(float(Decimal(str(value)) * 100))}%"


@forms.register("shape")
def shape(value: Any) -> str:
    """Format an architecture as [layers, heads, hidden, intermediate]: '[6, 12, 768, 3072]'."""
    return f"[{', '.join(str(value[key]) for key in ('layers', 'heads', 'hidden', 'intermediate'))}]"


def _set(form: Callable[[Any], str], values: Any) -> str:
    return f"{{{', '.join(map(form, values))}}}"


for _name in ("plain", "scientific"):
    forms.register(f"{_name}-set")(functools.partial(_set, forms[_name]))  # '{1e-5, 3e-5}', '{16, 32}'


def written(value: Any, form: str, words: Mapping[str, str]) -> str:
    """Format a value as the paper prints it in a cell.

    Args:
        value: a value from the settings. The entries of a list are formatted one by one and joined with commas, unless
            the formatter takes the whole list (its name ends with '-set').
        form: the name of a registered formatter; an empty string means 'plain'.
        words: label names: from a value, formatted by 'plain', to the name that the paper prints for it. If there are
            any, they replace the formatter.
    """
    if isinstance(value, (list, tuple)) and not form.endswith("-set"):
        return ", ".join(written(one, form, words) for one in value) or NONE
    if words and not isinstance(value, (dict, list)):
        return words.get(plain(value), plain(value))
    return forms[form or "plain"](value)
