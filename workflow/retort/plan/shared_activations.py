"""Which students share stored activations: one job runs their teacher over a task, into a folder that a run deletes.

Only students of which something is still to be made get such a folder. What is made keeps the folder that it was made
from, which is gone: with another input, Snakemake would make it again.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

from retort import checksums
from retort.checksums import RESULTS, digest_of
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.plan.sharing import grid_parts, is_unchanged
from retort.study.addresses import answers_address, score_files, students_of_activations

Wildcards = Any
FOLDER = RESULTS / "activations"  # of folders <teacher>/<task>/<number>


def shared_activations(plan: Plan, claimed: Container[str] = ()) -> dict[str, list[str]]:
    """Return folder of stored activations -> the students that read it; all processes of a run have the same.

    Args:
        plan: the plan of the study.
        claimed: files and folders that other runs make or read.
    """
    if plan.config.activations is not None:
        return plan.config.activations
    unmade, kept = defaultdict[Path, list[str]](list), set[str]()
    for student, task in plan.pairs:
        if student in plan.settings.distillations and plan.reads_stored_activations(student, task):
            files = trained_files(plan, student, task)
            made = [path for path in files if result_is_made(plan, student, task, path)]
            kept |= set(map(remembered_activations, made))
            if made != files:
                unmade[FOLDER / plan.study.students[student].teacher / task].append(student)
    folders = defaultdict[str, list[str]](list)
    for folder, students in unmade.items():
        held = [str(path) for path in sorted(folder.glob("*")) if str(path) not in claimed]
        names = (str(folder / str(number)) for number in itertools.count(1))
        new = next(name for name in names if not (name in kept or name in claimed or Path(name).exists()))
        for student in students:
            folders[next((name for name in held if _holds(plan, name, student)), new)].append(student)
    return dict(folders)


def trained_files(plan: Plan, student: str, task: str) -> list[str]:
    """Return the results that trainings of a student on a task write: those of its grid, and its scores."""
    return [*grid_parts(plan.study, student, task), *score_files(plan.study, student, task)]


def activations_behind(plan: Plan, student: str, task: str, result: str) -> str | list[str]:
    """Return the folder of stored activations that a result of a student is made from; empty if there is none."""
    if not plan.reads_stored_activations(student, task):
        return []
    decided = "" if result_is_made(plan, student, task, result) else plan.activations_read.get((student, task))
    return decided or remembered_activations(result) or []  # also of what is made anew for a reason of Snakemake's own


def result_is_made(plan: Plan, student: str, task: str, result: str) -> bool:
    """Return whether a result of a student on a task needs no training: settings and inputs are those it was made with.

    A result without checksums counts as made.
    """
    written = [result] if result.endswith(".jsonl") else [result, answers_address(result)]  # of a grid, or of seeds
    if not all(Path(path).exists() for path in written):
        return False
    recorded = checksums.whole(Path(result))
    if recorded is None:
        return True
    settings = digest_of(plan.settings.distillations[student][task].as_json())
    lasting = checksums.lasting(recorded.parents)
    return recorded.settings in ("", settings) and all(is_unchanged(recorded, path) for path in lasting)


def remembered_activations(result: str) -> str:
    """Return the folder of stored activations that a result was made from; empty if there was none."""
    recorded = checksums.whole(Path(result))
    return next((path for path in recorded.parents if Path(path).is_relative_to(FOLDER)), "") if recorded else ""


def settings_of_activations(plan: Plan) -> Callable[[Wildcards, Any], dict[str, object]]:
    """Return a function from wildcards to the settings of each student that a folder is for, as JSON values.

    It asks for `output`, so that Snakemake does not compare the value with that of an earlier run.

    Raises:
        RetortError: no student reads the folder.
    """

    def settings(wildcards: Wildcards, output: Any) -> dict[str, object]:
        teacher, task = wildcards.teacher, wildcards.task
        folder = str(FOLDER / teacher / task / wildcards.number)
        readers = [
            student
            for student, own in plan.pairs
            if own == task and student in plan.settings.distillations and folder in _folders(plan, student, task)
        ]
        if not readers:
            raise RetortError(f"no student reads {folder}", "ask for the scores of a student: they need it")
        return {name: plan.settings.distillations[name][task].as_json() for name in readers}

    return settings


def _folders(plan: Plan, student: str, task: str) -> set[str]:
    """Return the folders of stored activations that a student reads in this run, or was made from."""
    remembered = map(remembered_activations, trained_files(plan, student, task))
    return {plan.activations_read.get((student, task), ""), *remembered}


def leftovers(plan: Plan, claimed: Container[str]) -> list[Path]:
    """Return the folders that runs have left which were stopped, and that no student of this run or of others reads."""
    return [path for path in FOLDER.glob("*/*/*") if str(path) not in plan.activations and str(path) not in claimed]


def _holds(plan: Plan, folder: str, student: str) -> bool:
    """Return whether a folder that a stopped run has left holds what a student reads."""
    recorded = checksums.whole(Path(folder))
    if recorded is None or not all(is_unchanged(recorded, path) for path in recorded.parents):
        return False
    try:
        held: Mapping[str, object] = json.loads(students_of_activations(Path(folder)).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return held.get(student) == plan.settings.distillations[student][Path(folder).parent.name].as_json()
