"""Check whether a task-agnostic student is up to date: made with its present settings from its present inputs."""

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

    A folder that is gone counts as made if scores or grid results of the student exist: maybe nobody needs it any more.
    A folder without recorded settings or checksums counts as made, too.

    Args:
        student: its name.
        settings: the settings of its distillation.
        inputs: the folders that its distillation reads.
    """
    folder = Path("results/students") / student / "model"
    if not folder.is_dir():
        made_from_it = (Path("results", each, student).rglob("*.json*") for each in ("trials", "scores"))
        return any(True for paths in made_from_it for _ in paths)
    recorded = settings_in(folder / "README.md")
    if recorded is not None and recorded != settings.as_json():
        return False
    recorded_sums = _checksums(folder)
    return recorded_sums is None or all(_is_unchanged(recorded_sums, path) for path in inputs)


def _is_unchanged(recorded_sums: Checksums, path: str) -> bool:
    """Return whether an input still has the recorded digest; True if one of the two digests is not known."""
    now = _checksums(Path(path))
    return path not in recorded_sums.parents or now is None or recorded_sums.parents[path].sha256 == now.digest


def _checksums(path: Path) -> Checksums | None:
    try:
        return checksums.read(path)
    except RetortError:
        return None
