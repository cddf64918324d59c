"""Compare the settings in a result with those of the study."""

from __future__ import annotations

from typing import Any


def difference(recorded: Any, expected: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Return (path, recorded value, expected value) of the first difference; None if the settings are equal.

    The path has dotted keys, such as 'stages.1.schedule.steps'.
    """
    if isinstance(recorded, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in recorded if key not in expected)]:
            inner = difference(recorded.get(key, "absent"), expected.get(key, "absent"), f"{path}.{key}".lstrip("."))
            if inner:
                return inner
        return None
    if isinstance(recorded, list) and isinstance(expected, list) and len(recorded) == len(expected):
        pairs = enumerate(zip(recorded, expected, strict=True), start=1)
        return next((inner for i, (a, b) in pairs if (inner := difference(a, b, f"{path}.{i}".lstrip(".")))), None)
    return None if recorded == expected else (path, recorded, expected)
