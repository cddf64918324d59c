"""Settings cells: what a cell of a settings table reads from our own students, by dotted keys into their settings.

'stages.1.schedule.learning_rate' is the learning rate of the first stage. Entries of a list count from 1; a term of a
stage can also be named by its objective: 'stages.2.terms.soft-labels.options.temperature'.
"""

from __future__ import annotations

from typing import Any

from retort.errors import RetortError
from retort.formatters import format_value, formatters
from retort.plan import resolve
from retort.registry import unknown_name
from retort.specs.base import Settings
from retort.specs.exhibit import MAPPINGS, SettingsCell
from retort.specs.loading import Problems
from retort.study import questions
from retort.study.study import Study

NAMING_KEY = "objective"  # its value can name an entry of a list


def readable_settings(study: Study, name: str, task: str) -> Settings:
    """Return the settings of a student's jobs, with additions that settings tables read.

    The additions are 'finetuning' (the schedule on the task, and its grid), 'runs' (the number of seeds),
    'architecture.head' (the width of an attention head), the maximum length of rows in each stage on a task, and
    'written' (the student as in its file).

    Raises:
        RetortError: the student is distilled on tasks (task-specific) and no task is given.
    """
    student, specific = study.students[name], study.students[name].distilled_on == "task"
    if specific and not task:
        raise RetortError(f"'{name}' is distilled on tasks", "say which: give 'task'")
    settings = resolve.task_distillation(study, name, task) if specific else resolve.corpus_distillation(study, name)
    values, protocol, size = settings.as_json(), study.protocols[student.protocol], student.architecture
    for stage in values["stages"] if specific else ():
        stage["schedule"].setdefault("max_length", study.tasks[task].max_length)
    grid = questions.grid_of(study, name, task)
    values["architecture"]["head"] = size.hidden // size.heads
    finetuning = {
        **protocol.for_task(task).model_dump(mode="json"),
        "grid": grid.model_dump(mode="json") if grid else {},
    }
    written = student.model_dump(mode="json")
    return {**values, "written": written, "finetuning": finetuning, "runs": len(protocol.seeds)}


def mappings_of(study: Study, paper: str) -> dict[str, dict[str, list[str]]]:
    """Return the mappings that a paper's students use: objective -> type of mapping -> names.

    The types are 'single' (named by the teacher layer, counted from the last, which is 0), 'one-to-one' and
    'one-to-many'.
    """
    mappings: dict[str, dict[str, set[Any]]] = {}
    for student in (spec for name, spec in study.students.items() if study.paper_of(name) == paper):
        depth = study.model_of(student.teacher).architecture.layers
        for term in (term for stage in student.stages for term in stage.terms if term.mapping is not None):
            pairs = term.layer_pairs(student.architecture.layers, depth, student.initial_layers)
            by_type = mappings.setdefault(term.objective, {"single": set(), "one-to-one": set(), "one-to-many": set()})
            if len(pairs) == 1:
                by_type["single"].add(depth - pairs[0][1])
            else:
                apart = len({own for own, _ in pairs}) == len(pairs)
                mapping = term.mapping if isinstance(term.mapping, str) else next(iter(term.mapping or ()))
                by_type["one-to-one" if apart else "one-to-many"].add(str(mapping))
    return {
        objective: {
            kind: [str(-each) if kind == "single" else each for each in sorted(names)] for kind, names in types.items()
        }
        for objective, types in mappings.items()
    }


def value_at(settings: Any, keys: str) -> Any:
    """Return the value under dotted keys.

    Raises:
        RetortError: a key does not exist; the message suggests or lists those that do.
    """
    value = settings
    for key in keys.split("."):
        entries = value
        if isinstance(value, (list, tuple)):
            named = {
                str(entry[NAMING_KEY]): entry for entry in value if isinstance(entry, dict) and NAMING_KEY in entry
            }
            entries = {**named, **{str(number): entry for number, entry in enumerate(value, start=1)}}
        if not isinstance(entries, dict) or key not in entries:
            raise unknown_name(f"key of '{keys}'", key, entries if isinstance(entries, dict) else ())
        value = entries[key]
    return value


def our_text(study: Study, paper: str, cell: SettingsCell) -> str:
    """Return the text of a settings cell for our students, in the paper's format.

    Raises:
        RetortError: a key of the cell does not exist, or its formatter cannot print the value.
    """
    if cell.student:
        settings = readable_settings(study, cell.student, cell.task)
    else:
        settings = {MAPPINGS: mappings_of(study, paper)}
    value = value_at(settings, cell.reads)
    try:
        return format_value(value, cell.formatter, cell.reported_as)
    except (TypeError, ValueError, ArithmeticError, KeyError) as error:
        raise RetortError(
            f"'{cell.reads}' is {value!r}", f"formatter '{cell.formatter or 'plain'}' cannot print that"
        ) from error


def check_settings_cells(study: Study, problems: Problems) -> None:
    """Add a problem for each settings cell that names an unknown student, task, key or formatter."""
    for (paper, name), exhibit in study.exhibits.items():
        path, key = study.place_of(paper, name)
        for cell in exhibit.settings_cells():
            where = f"{key}row '{cell.row}', column '{cell.column}'"
            if cell.student and cell.student not in study.students:
                problems.add(path, f"{where}: {unknown_name('student', cell.student, study.students)}")
            elif cell.task and cell.task not in study.tasks:
                problems.add(path, f"{where}: {unknown_name('task', cell.task, study.tasks)}")
            elif cell.formatter and cell.formatter not in formatters:
                problems.add(path, f"{where}: {unknown_name('formatter', cell.formatter, formatters)}")
            else:
                problems.attempt(path, where, our_text, study, paper, cell)
