"""Check the names of files: every YAML file in a study's folders must have a name under which it is read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from retort.registry import nearest
from retort.specs.load import Problems

PAPER_FILES = ("paper.yaml", "students.yaml", "claims.yaml", "audit.yaml", "table*.yaml", "figure*.yaml")


def check_names(folder: Path, folders: Iterable[str], papers: Iterable[str], problems: Problems) -> None:
    """Add a problem for each YAML file that nothing reads because of its name or its place.

    Args:
        folder: the folder of the study.
        folders: its folders with one file for each entry, such as 'tasks'.
        papers: the papers that are read.
        problems: the list to which problems are added.
    """
    places: dict[Path, tuple[str, ...]] = {folder / name: ("*.yaml",) for name in folders}
    scales = tuple(path.name for path in (folder / "scales").glob("*.yaml"))
    for paper in (folder / "papers" / paper for paper in papers):
        places |= {paper: PAPER_FILES, paper / "recorded": scales}
    below = [path for place in places for path in place.glob("**/*.y*ml")]
    places[folder] = ("facts.yaml",)
    for path in sorted({*below, *folder.glob("*.y*ml"), *folder.glob("papers/*.y*ml")}):
        patterns = places.get(path.parent, ())
        if not any(path.match(pattern) for pattern in patterns):
            entry = f"{path.parent.name}-*" if path.stem == "students" else path.stem
            problems.unread.add(entry)  # files that name this entry get no further problem
            problems.add(path, f"nothing reads a file of this name here; {_suggestion(path, patterns)}")


def _suggestion(path: Path, patterns: tuple[str, ...]) -> str:
    """Return a suggestion for a misplaced file: another name or place."""
    if not patterns:
        return "move it"
    right = path.with_suffix(".yaml").name
    if path.suffix != ".yaml" and any(Path(right).match(pattern) for pattern in patterns):
        return f"rename it to '{right}'"
    near = nearest(right, [pattern.replace("*", "1") for pattern in patterns])
    return f"did you mean {'' if near in patterns else 'a name such as '}'{near}'?" if near else "rename it or move it"
