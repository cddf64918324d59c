"""Format numbers for tables."""

from __future__ import annotations

NOTHING = "–"


def number(value: float | None, decimals: int) -> str:
    """Return a number with a real minus sign (U+2212); a dash for None."""
    return NOTHING if value is None else f"{value:.{decimals}f}".replace("-", "−")


def with_std(mean: float | None, std: float | None, decimals: int) -> str:
    """Return '61.2 ± 0.4', or the mean alone if there is no standard deviation."""
    return number(mean, decimals) + (f" ± {number(std, decimals)}" if mean is not None and std is not None else "")


def signed(difference: float, decimals: int) -> str:
    """Return a difference with its sign: '+0.3' or '−1.2'; one that rounds to zero has no sign."""
    text = number(difference, decimals)
    return text.removeprefix("−") if not text.strip("−0.") else text if difference < 0 else f"+{text}"


def p_value(value: float, decimals: int) -> str:
    """Return '0.012', or '<0.001' if the p-value is too small for the decimals."""
    return number(value, decimals) if value >= 10**-decimals else f"<{10**-decimals:.{decimals}f}"
