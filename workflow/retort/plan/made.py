"""Whether a task-agnostic student is made: under these settings, from what its inputs are now."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from retort import checksums
from retort.checksums import Checksums
from retort.errors import RetortError
from retort.settings import CorpusDistillationSettings
from retort.settings.card import settings_in


def is_made(student: str, settings: CorpusDistillationSettings, inputs: Iterable[str]) -> bool:
    """Return whether the folder of a student needs no distillation.

    It may be gone, while what was made from it is there: then nobody may need it, and it counts as made. So does a
    folder that does not tell how it was made.

    Args:
        student: its name.
        settings: the settings of its distillation.
        inputs: the folders that its distillation reads.
    """
    folder = Path("results/students") / student / "model"
    if not folder.is_dir():
        later = (Path("results", each, student).rglob("*.json*") for each in ("trials", "scores"))
        return any(True for paths in later for _ in paths)
    recorded = settings_in(folder / "README.md")
    if recorded is not None and recorded != settings.as_json():
        return False
    taken = _checksums(folder)
    return taken is None or all(_is_parent(taken, path) for path in inputs)


def _is_parent(taken: Checksums, path: str) -> bool:
    """Return whether an input is as it was; True if that is not known."""
    now = _checksums(Path(path))
    return path not in taken.parents or now is None or taken.parents[path].sha256 == now.digest


def _checksums(path: Path) -> Checksums | None:
    try:
        return checksums.read(path)
    except RetortError:
        return None
