"""The settings in a result: how a model card holds them, and how they differ from those of the study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retort.settings.inputs import Settings

BEGIN, END = "## Settings\n\n```json\n", "\n```\n"


def section(settings: Settings) -> str:
    """Return the section of a model card that shows the settings."""
    return f"{BEGIN}{json.dumps(settings.as_json(), indent=1)}{END}"


def settings_in(card: Path) -> Any:
    """Return the settings in a model card as JSON values; None if it cannot be read or shows none."""
    try:
        return json.loads(card.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0])
    except (OSError, ValueError, IndexError):
        return None


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
