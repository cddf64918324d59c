"""Check every YAML file of a study, whatever the configuration names: all papers, at every scale."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from retort.registry import nearest
from retort.specs.loading import Problems
from retort.study import check_lengths, check_students
from retort.study.study import Study

# Check the names of files: every YAML file in a study's folders must have a name under which it is read.


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


# Check the students of a scaled study: smaller ones must still fit their teachers and objectives.


def check_scaled(study: Study, problems: Problems) -> None:
    """Add a problem for each student that cannot be trained at the size that the scale gives it.

    Args:
        study: the study after `scale_study`, free of problems before.
        problems: the list to which problems are added.
    """
    if study.scale.replacements is None and study.scale.miniature is None:
        return
    for path, line in check_lengths.position_problems(study):
        problems.add(path, f"{line} (at scale {study.config.scale})")
    for name, student in study.running.items():
        path, key = study.files["students", name], study.keys[name]
        for line in check_students.initialisation_problems(study, name):
            problems.add(path, f"{key}.initialisation.{line} (at scale {study.config.scale})")
        teacher = study.model_of(student.teacher).architecture
        for number, stage in enumerate(student.stages, start=1):
            for index, term in enumerate(stage.terms, start=1):
                for line in check_students.term_problems(term, student.architecture, teacher, student.initial_layers):
                    where = f"{key}.stages.{number}.terms.{index}"
                    problems.add(path, f"{where}{line} (at scale {study.config.scale})")
