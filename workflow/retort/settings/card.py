"""Write settings into a model card, and read them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retort.settings.base import Settings

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
