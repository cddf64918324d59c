"""Answers about a study: how students and tasks run, how files are read, and what each is made from.

What something is made from has names such as 'models/roberta-base' or 'sources/cc100', by which a run also lists what
it leaves out.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Literal

from retort.errors import RetortError
from retort.specs import catalogue
from retort.specs.base import Settings
from retort.specs.config import Licences
from retort.specs.exhibit import timed_models
from retort.specs.protocol import STAGES, Protocol, Schedule, SearchGrid, SettingKey
from retort.specs.reported import Timing
from retort.specs.student import Requirements, Stage, Student, Term
from retort.specs.task import Task
from retort.specs.task_files import SplitFiles
from retort.study.study import Study


def seeds_of(study: Study, student: str) -> list[int]:
    """Return the seeds under which a student or teacher is scored; a teacher has one."""
    if student in study.teachers:
        return [study.teachers[student].seed]
    seeds, chosen = protocol_of(study, student).seeds, study.budget_of(student)
    return first_seeds(seeds, chosen.seeds) if chosen else seeds


def first_seeds(seeds: list[int], count: int) -> list[int]:
    """Return the first of some seeds, and the next numbers after these where more are asked for."""
    return list(itertools.islice(itertools.chain(seeds, itertools.count(max(seeds) + 1)), count))


def protocol_of(study: Study, name: str) -> Protocol:
    """Return the protocol of a student or teacher."""
    return study.protocols[(study.teachers.get(name) or study.students[name]).protocol]


def grid_of(study: Study, name: str, task: str) -> SearchGrid | None:
    """Return the grid over which a student or teacher is tuned on a task; None if it is not tuned."""
    return keyed_grid(study, name, task)[0]


def keyed_grid(study: Study, name: str, task: str) -> tuple[SearchGrid | None, SettingKey]:
    """Return the grid over which a student or teacher is tuned on a task, and the key that gives it."""
    if name in study.students and (own := study.students[name].grid):
        return own, SettingKey("student", ("grid",))
    grid, key = protocol_of(study, name).grid_of(task)
    return (None if name in study.untuned else grid), key


def at_point(student: Student, point: Settings) -> Student:
    """Return a student at a point of its grid: the values of keys such as 'stages.1.terms.2.weight' are in its stages.

    Raises:
        ValueError: a key leads nowhere.
        pydantic.ValidationError: a value is not allowed there.
    """
    changes = {key: value for key, value in point.items() if key.startswith(STAGES)}
    if not changes:
        return student
    content = student.model_dump(include={"stages"})
    for key, value in changes.items():
        place, last = _place(content, key)
        place[last] = value
    return student.model_copy(update={"stages": [Stage.model_validate(stage) for stage in content["stages"]]})


def setting_at(student: Student, key: str) -> Any:
    """Return the setting of a student under a key such as 'stages.1.terms.2.weight'; None if it is not given.

    Raises:
        ValueError: the key leads nowhere.
    """
    place, last = _place(student.model_dump(include={"stages"}), key)
    return place.get(last)


def tried(student: Student) -> list[Student]:
    """Return a student at each point of its own grid; itself alone without one."""
    return [at_point(student, point) for point in student.grid.points()] if student.grid else [student]


def stages_of(student: Student) -> list[Stage]:
    """Return the stages of a student, at every point of its own grid if it has one."""
    return [stage for each in tried(student) for stage in each.stages]


def _place(content: Any, key: str) -> tuple[dict[str, object], str]:
    """Return the mapping in nested mappings and lists that a dotted key leads to, and the last part of the key.

    Raises:
        ValueError: the key leads nowhere.
    """
    *steps, last = key.split(".")
    for number, step in enumerate(steps, start=1):
        numbered = {str(index): entry for index, entry in enumerate(content, start=1)}
        content = (numbered if isinstance(content, list) else content).get(step)
        if not isinstance(content, dict | list):
            raise ValueError(f"there is no '{'.'.join(steps[:number])}'")
    if isinstance(content, list):
        raise ValueError(f"name a setting of it, such as '{key}.weight'")
    return content, last


def runs_on(study: Study, student: str, task: str) -> bool:
    """Return whether a student or teacher runs on a task; its list of tasks, the scale or a budget may leave it out."""
    chosen = study.budget_of(student)
    return runs_at_scale(study, student, task) and (not study.config.budget or bool(chosen and task in chosen.tasks))


def runs_at_scale(study: Study, student: str, task: str) -> bool:
    """Return whether a student or teacher runs on a task where no budget leaves it out.

    Only a scaled study leaves tasks out, and only for students and teachers of published papers.
    """
    if student in study.not_run:
        return False
    own = study.students[student].tasks if student in study.students else None
    scaled = study.scale.replacements if study.is_of_others(student) else None
    listed = (own, scaled and scaled.tasks_for(study.paper_of(student)))
    return all(tasks is None or task in tasks for tasks in listed)


def corpus_of_output(study: Study, name: str) -> str | None:
    """Return the corpus on which a student's stage reads the teacher's output distribution; None if no stage does."""
    objectives = catalogue.objectives()
    for stage in study.students[name].stages:
        if stage.data != "task" and any(objectives[term.objective].level == "output" for term in stage.terms):
            return stage.data
    return None


def fitted_on(study: Study, name: str) -> str | None:
    """Return the corpus on which the teacher gets a new masked-LM head for a student.

    None means that the teacher's model comes with a head, or that no stage of the student reads one.
    """
    return None if study.model_of(study.students[name].teacher).masked_lm else corpus_of_output(study, name)


def files_of(study: Study, task: Task, split: str) -> SplitFiles:
    """Return how the files of a split are read where its source is.

    Raises:
        RetortError: the task gives no files for this location, or none for this split.
    """
    source = task.filed[split].source or task.source
    location: Literal["hub", "local"] = "hub" if study.sources[source].location(study.config) == "hub" else "local"
    if location not in task.read:
        raise RetortError(f"read: '{location}' is missing, where the files of source '{source}' are", "see data_dir")
    if split not in task.read[location].files:
        raise RetortError(f"read.{location}.files: no file of split '{split}', which is used", "name one")
    return task.read[location]


def has_files(study: Study, name: str, splits: list[str]) -> bool:
    """Return whether each split has a file where its source is."""
    task = study.tasks[name]
    try:
        return all(files_of(study, task, split) for split in splits)
    except RetortError:
        return False


def submitted_splits(spec: Task) -> list[str]:
    """Return the splits whose predictions a submission holds."""
    files = spec.submission.files if spec.submission else ()
    return list(dict.fromkeys(spec.encoded_splits[name][0] for name in files))


def submitted_sources(spec: Task) -> list[str]:
    """Return the sources of the splits whose predictions a submission holds."""
    return list(dict.fromkeys(spec.splits[split].source or spec.source for split in submitted_splits(spec)))


def chosen_by(study: Study, protocol: Protocol, task: str) -> str:
    """Return the metric, on the validation split of a task, by which a protocol chooses among models."""
    return protocol.metric_for_best_model.get(task, study.tasks[task].chosen_by)


def epoch_chosen_by(study: Study, protocol: Protocol, schedule: Schedule, task: str) -> str | None:
    """Return the metric by which the weights of the best epoch are chosen; None to take those of the last epoch.

    Args:
        study: the study.
        protocol: the protocol of the training.
        schedule: its schedule.
        task: the task; empty for a stage on a corpus, which has no validation split.
    """
    return chosen_by(study, protocol, task) if task and schedule.load_best_model_at_end else None


def counts_padding(term: Term) -> bool:
    """Return whether a term reads activations at padding."""
    entry = catalogue.objectives()[term.objective]
    return Requirements.of(entry.facts).counts_padding({**entry.options, **term.options})


def further_timings(study: Study) -> dict[str, list[Timing]]:
    """Return student or teacher -> what tables require of its latency next to what every profile has, sorted."""
    required: dict[str, set[Timing]] = {}
    for exhibit in study.exhibits.values():
        for name, timings in timed_models(exhibit).items():
            # a job has the GPU if there is one, so 'gpu' is its own device
            on_devices = {replace(timing, device="") if timing.device == "gpu" else timing for timing in timings}
            required.setdefault(name, set()).update(on_devices)
    return {name: sorted(timings - {Timing()}) for name, timings in required.items()}


# --- what students, teachers and tasks are made from


def start_lineage(study: Study, student: str) -> list[str]:
    """Return a student, the student that it starts from, and so on; empty for a teacher."""
    names: list[str] = []
    parent: str | None = student
    while parent is not None and parent in study.students and parent not in names:
        names.append(parent)
        parent = study.students[parent].initialisation.student
    return names


def of_model(study: Study, name: str) -> set[str]:
    """Return what a pre-trained model needs: its own source, and the model with its tokenizer."""
    models = {name, study.tokenizer_of(name)}
    return {key for each in models for key in (f"models/{each}", f"sources/{study.models[each].source}")}


def of_corpus(study: Study, name: str) -> set[str]:
    """Return what a corpus is built from."""
    return {f"corpora/{name}", *(f"sources/{each.source}" for each in study.corpora[name].components)}


def of_task(study: Study, name: str) -> set[str]:
    """Return what training and scoring on a task needs."""
    return {f"tasks/{name}", *(f"sources/{source}" for source in study.tasks[name].sources)}


def of_submission(study: Study, name: str) -> set[str]:
    """Return what the predictions on a task's test sets need, besides what training on it needs."""
    return {f"submissions/{name}", *(f"sources/{source}" for source in submitted_sources(study.tasks[name]))}


def of_profile(study: Study, name: str) -> set[str]:
    """Return what the profile of a student or teacher needs: the model whose family it has."""
    return of_model(study, study.teachers[study.teacher_of(name)].model)


def of_student(study: Study, name: str) -> set[str]:
    """Return what a student or teacher is made from, whatever the task."""
    needed = of_profile(study, name)
    for student in (study.students[each] for each in start_lineage(study, name)):
        needed |= of_model(study, study.teachers[student.teacher].model)
        if student.initialisation.checkpoint:
            needed |= of_model(study, student.initialisation.checkpoint)
        for stage in stages_of(student):
            needed |= of_corpus(study, stage.data) if stage.data != "task" else set()
    return needed


def licences_of(study: Study) -> Licences:
    """Return the licences of all sources, and the sources of each teacher and task, and of each student that runs."""
    needed = {name: of_student(study, name) for name in (*study.teachers, *study.running)}
    needed |= {f"tasks/{name}": of_task(study, name) for name in study.tasks}
    return Licences(
        sources={name: (source.title, source.licence) for name, source in study.sources.items()},
        needed={name: [each for each in study.sources if f"sources/{each}" in names] for name, names in needed.items()},
    )
