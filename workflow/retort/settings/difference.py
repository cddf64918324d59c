"""Compare the settings in a result with those of the study."""

from __future__ import annotations

from typing import Any


def difference(recorded: Any, expected: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Return the first key path at which two settings differ, with both values; None if they are equal."""
    if isinstance(recorded, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in recorded if key not in expected)]:
            below = difference(recorded.get(key, "absent"), expected.get(key, "absent"), f"{path}.{key}".lstrip("."))
            if below:
                return below
        return None
    if isinstance(recorded, list) and isinstance(expected, list) and len(recorded) == len(expected):
        pairs = enumerate(zip(recorded, expected, strict=True), start=1)
        return next((below for i, (a, b) in pairs if (below := difference(a, b, f"{path}.{i}".lstrip(".")))), None)
    return None if recorded == expected else (path, recorded, expected)
