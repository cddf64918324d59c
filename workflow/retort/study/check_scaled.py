"""Check the students of a scaled study: smaller ones must still fit their teachers and objectives."""

from __future__ import annotations

from retort.specs.load import Problems
from retort.study import check_initialisation, check_positions, check_terms
from retort.study.study import Study


def check_scaled(study: Study, problems: Problems) -> None:
    """Add a problem for each student that cannot be trained at the size that the scale gives it.

    Args:
        study: the study after `scale_study`, free of problems before.
        problems: the list to which problems are added.
    """
    if study.scale.replacements is None and study.scale.miniature is None:
        return
    for path, line in check_positions.problems(study):
        problems.add(path, f"{line} (at scale {study.config.scale})")
    for name, student in study.running.items():
        path, key = study.files["students", name], study.keys[name]
        for line in check_initialisation.problems(study, name):
            problems.add(path, f"{key}.initialisation.{line} (at scale {study.config.scale})")
        teacher = study.model_of(student.teacher).architecture
        for number, stage in enumerate(student.stages, start=1):
            for index, term in enumerate(stage.terms, start=1):
                for line in check_terms.problems(term, student.architecture, teacher, student.initial_layers):
                    where = f"{key}.stages.{number}.terms.{index}"
                    problems.add(path, f"{where}{line} (at scale {study.config.scale})")
