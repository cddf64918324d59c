"""How papers print a setting: a value to the text that stands in a cell.

Nothing here needs torch: the checks of the YAML files call it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from retort.registry import Registry

NONE = "-"  # what a list without entries prints
forms: Registry[Callable[[Any], str]] = Registry("form")


@forms.register("plain")
def plain(value: Any) -> str:
    """'6' for 6 and 6.0, '0.01' for 0.01; words as they are."""
    if isinstance(value, (dict, list)):
        raise TypeError(f"{value!r} is no single value")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{Decimal(str(value)).normalize():f}" if isinstance(value, (int, float)) else str(value)


@forms.register("decimal")
def decimal(value: Any) -> str:
    """'1.0' for 1, '0.07' for 0.07: at least one decimal."""
    text = plain(value)
    return text if "." in text else f"{text}.0"


@forms.register("scientific")
def scientific(value: Any) -> str:
    """'5e-4' for 0.0005."""
    _, digits, exponent = Decimal(str(value)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:]))
    return f"{first}{'.' * bool(rest)}{rest}e{int(exponent) + len(rest)}"


@forms.register("thousands")
def thousands(value: Any) -> str:
    """'100k' for 100000."""
    return f"{plain(value / 1000)}k"


@forms.register("commas")
def commas(value: Any) -> str:
    """'130,319' for 130319."""
    return f"{value:,}"


@forms.register("percent")
def percent(value: Any) -> str:
    """'6%' for 0.06."""
    return f"{plain(float(Decimal(str(value)) * 100))}%"


@forms.register("shape")
def shape(value: Any) -> str:
    """'[6, 12, 768, 3072]' for an architecture: layers, heads, hidden, intermediate."""
    return f"[{', '.join(str(value[key]) for key in ('layers', 'heads', 'hidden', 'intermediate'))}]"


def _set(form: Callable[[Any], str], values: Any) -> str:
    return f"{{{', '.join(map(form, values))}}}"


for _name in ("plain", "scientific"):
    forms.register(f"{_name}-set")(functools.partial(_set, forms[_name]))  # '{1e-5, 3e-5}', '{16, 32}'


def written(value: Any, form: str, words: Mapping[str, str]) -> str:
    """A value as a cell prints it.

    Args:
        value: of the settings; the entries of a list are joined, unless the form takes the list as a whole.
        form: a registered form; empty for 'plain'.
        words: a value in its plain form -> the paper's own word for it.
    """
    if isinstance(value, (list, tuple)) and not form.endswith("-set"):
        return ", ".join(written(one, form, words) for one in value) or NONE
    if words and not isinstance(value, (dict, list)):
        return words.get(plain(value), plain(value))
    return forms[form or "plain"](value)
