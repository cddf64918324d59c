"""Checks of sources, models, tasks, corpora, protocols and scales: names, options, schedules, lengths of texts.

Every check yields (file, what is wrong with it); those of one entry yield lines that begin with a key of its file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from retort.errors import RetortError
from retort.registry import nearest, unknown
from retort.specs import catalogue
from retort.specs.catalogue import wrong_options
from retort.specs.loading import Found, readable
from retort.specs.protocol import OF_ROWS, STAGES, Grid, Protocol
from retort.specs.scale import Scale
from retort.specs.source import HubSource
from retort.specs.task_files import Files
from retort.study.cells import tasks_scored
from retort.study.questions import files_of
from retort.study.study import Study


def check_data(study: Study) -> Iterator[Found]:
    """Yield what is wrong with the models, tasks, corpora and protocols of a study, and with their names."""
    yield from _taken_names(study)
    checks = {
        "models": _model,
        "tasks": _task,
        "corpora": _corpus,
        "training_rows": _row_set,
        "protocols": _protocol,
    }
    for folder, check in checks.items():
        for name in getattr(study, folder):
            path = study.files[folder, name]
            inside = f"{folder}.{name}." if path.name == "paper.yaml" else ""  # as a protocol may stand there
            yield from ((path, f"{inside}{line}") for line in check(study, name))
    yield from check_positions(study)
    yield from check_scale(study, study.config.scale, study.scale)


def _taken_names(study: Study) -> Iterator[Found]:
    """Yield a line for each entry whose results would have the path of another's.

    A student and a teacher, or a task and a corpus, must differ in name. No task is called 'model', and no corpus
    'task'.
    """
    for folder, name, why in (
        ("tasks", "model", "results/students/<student>/model holds what was distilled on a corpus"),
        ("corpora", "task", "`data: task` in a stage means the student's own task"),
    ):
        if name in getattr(study, folder):
            yield study.files[folder, name], f"'{name}' is taken: {why}; rename the file"
    for folder in ("tasks", "corpora", "models", "sources", "students", "teachers"):
        first = dict[str, str]()
        for name in getattr(study, folder):
            if (other := first.setdefault(name.casefold(), name)) != name:
                why = f"differs from '{other}' in case alone: some file systems hold both as one"
                yield study.files[folder, name], f"'{name}' {why}; rename one of the two"
    for folder, other, whose in (("students", "teachers", "scores"), ("tasks", "corpora", "teachers")):
        for name in sorted(getattr(study, folder).keys() & getattr(study, other).keys()):
            why = f"is also one of the {other}: their {whose} would have one address"
            yield study.files[folder, name], f"'{name}' {why}; rename one of the two"


def _model(study: Study, name: str) -> Iterator[str]:
    """Yield what is wrong with a model: one with another's tokenizer has as many tokens, and the other has its own."""
    models, model = study.models, study.models[name]
    yield from study.wrong_name("source", "source", model.source, study.sources)
    other = model.tokenizer
    if other is None:
        return
    yield from study.wrong_name("tokenizer", "model", other, models)
    if other == name:
        yield "tokenizer: leave it out; without it, a model has its own"
    elif other in models and models[other].tokenizer:
        yield f"tokenizer: '{other}' has that of '{models[other].tokenizer}'; name this one"
    elif other in models and models[other].vocabulary != model.vocabulary:
        sizes = f"'{other}' has {models[other].vocabulary} tokens, '{name}' {model.vocabulary}"
        yield f"tokenizer: {sizes}; they cannot share one"


def _task(study: Study, name: str) -> Iterator[str]:
    task, formats, readers = study.tasks[name], catalogue.formats(), catalogue.readers()
    for number, source in enumerate(task.sources):
        yield from study.wrong_name("splits" if number else "source", "source", source, study.sources)
    if task.reader:
        reader = readers.get(task.reader.name)
        yield from study.wrong_name("reader", "reader", task.reader.name, readers)
        yield from wrong_options(reader, task.reader.options, "reader.options") if reader else ()
    facts = catalogue.task_types()[task.task_type].facts
    for location, files in task.read.items():
        where = f"read.{location}"
        if files.format not in formats:
            yield f"{where}: {unknown('format', files.format, formats)}"
            continue
        for options in (files.options, *(change.options for change in files.changes.values())):
            yield from wrong_options(formats[files.format], options, f"{where}.options")
        for line in _wrong_columns(files, facts["required_columns"], facts["optional_columns"]):
            yield f"{where}.columns: {line}"


def _wrong_columns(files: Files, fields: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[str]:
    """Yield a line for each field that a row does not have, and for each one that it needs and does not get."""
    every = (*fields, *optional)
    columns = [*files.columns, *(field for change in files.changes.values() for field in change.columns)]
    wrong = [field for field in columns if field not in every]
    yield from (str(unknown("field", field, every)) for field in wrong)
    meant = [nearest(field, every) for field in wrong]
    yield from (f"'{field}' is missing" for field in fields if field not in (*files.columns, *meant))


def _corpus(study: Study, name: str) -> Iterator[str]:
    corpus, formats = study.corpora[name], catalogue.text_formats()
    yield from study.wrong_name("packing", "packing", corpus.packing, catalogue.packers())
    for number, component in enumerate(corpus.components, start=1):
        where, text_format = f"components.{number}", formats.get(component.format)
        yield from study.wrong_name(f"{where}.source", "source", component.source, study.sources)
        yield from study.wrong_name(f"{where}.format", "text format", component.format, formats)
        yield from wrong_options(text_format, component.options, f"{where}.options") if text_format else ()


def _row_set(study: Study, name: str) -> Iterator[str]:
    """Yield what is wrong with a set of training rows: its sources, tasks, and the generator with its model."""
    rows = study.training_rows[name]
    for source in rows.sources:
        where = "generator.word_vectors.source" if rows.generator else "source"
        yield from study.wrong_name(where, "source", source, study.sources)
    for task in rows.files:
        yield from study.wrong_name("files", "task", task, study.tasks)
    made = rows.generator
    if made is None:
        return
    entry = catalogue.generators().get(made.name)
    if entry is None:
        yield f"generator.name: {unknown('generator', made.name, catalogue.generators())}"
        return
    yield from wrong_options(entry, made.options, "generator.options")
    if made.model:
        yield from study.wrong_name("generator.model", "model", made.model, study.models)
    if entry.facts["needs_masked_lm"]:
        if made.model is None:
            yield f"generator.model: '{made.name}' asks a model with a masked-LM head; name one"
        elif made.model in study.models and not study.models[made.model].masked_lm:
            lacks = f"'{made.model}' has no masked-LM head, which '{made.name}' asks"
            yield f"generator.model: {lacks}; name a model whose file says 'masked_lm: true'"


def _protocol(study: Study, name: str) -> Iterator[str]:
    protocol, tasks = study.protocols[name], study.tasks
    for task in protocol.tasks:
        yield from study.wrong_name("tasks", "task", task, {**tasks, **study.corpora})
        yield from wrong_schedule(f"tasks.{task}", protocol, task)
    yield from wrong_lengths(study, protocol.schedule.max_length, protocol.tasks)
    for task in protocol.grids:
        yield from study.wrong_name("grids", "task", task, tasks)
    for task, metric in protocol.metric_for_best_model.items():
        yield from study.wrong_name("metric_for_best_model", "task", task, tasks)
        if task in tasks:
            measures = tasks[task].measures(tasks[task].validation_split)
            yield from study.wrong_name(f"metric_for_best_model.{task}", "metric", metric, measures)
    for task in tasks:
        yield from _changed_axes(protocol, task)
    for where, grid in (("grid", protocol.grid), *((f"grids.{task}", each) for task, each in protocol.grids.items())):
        yield from _wrong_axes(protocol, where, grid) if grid else ()
    students = [student for student in study.students.values() if student.protocol == name]
    is_taught = any(teacher.protocol == name for teacher in study.teachers.values())
    if (protocol.grid or protocol.grids) and students and not is_taught and all(each.grid for each in students):
        key = "grid" if protocol.grid else "grids"
        yield f"{key}: nothing is tuned over it, for each student of this protocol has its own; leave it out"


def _changed_axes(protocol: Protocol, task: str) -> Iterator[str]:
    """Yield each field of the schedule that a task changes although its grid tries it."""
    grid, changed, lengths = protocol.grid_of(task), protocol.tasks.get(task, {}), {"steps", "epochs"}
    tried = set(grid.axes) if grid else set()
    tried |= lengths if tried & lengths else set()
    for field in sorted(tried & set(changed)):
        where = f"grids.{task}" if task in protocol.grids else "grid"
        yield f"tasks.{task}.{field}: '{where}' tries its own; give it there, in 'grids.{task}'"


def _wrong_axes(protocol: Protocol, where: str, grid: Grid) -> Iterator[str]:
    """Yield what is wrong with the axes of a protocol's grid: keys of stages, and values out of range."""
    for key, values in grid.axes.items():
        if key.startswith(STAGES):
            yield f"{where}.{key}: a protocol has no stages; give it in the 'grid' of a student"
        else:
            yield from dict.fromkeys(
                line for each in values for line in wrong_schedule(where, protocol, "", {key: each})
            )


def wrong_schedule(where: str, protocol: Protocol, task: str, *changes: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the schedule of a protocol for a task with these changes.

    Args:
        where: the key that gives the changes.
        protocol: the protocol.
        task: the task; empty for a schedule without the changes of a task.
        *changes: further changes; later ones override earlier ones.
    """
    try:
        protocol.for_task(task, *map(dict, changes))
    except ValidationError as error:
        return readable(error, None, where)
    return []


def wrong_lengths(study: Study, everywhere: Any, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each field on the lengths of rows that is not allowed.

    Only a task whose rows are single texts may have a `max_length`: a row of two texts cannot be cut without a decision
    about which of the two to cut. The blocks of a corpus have one length: there is nothing to cut, to group or to pad.

    Args:
        study: the study.
        everywhere: the length that the schedule gives for all data sets; None if it gives none.
        tasks: the name of a task or corpus -> the fields of the schedule that the file changes for it.
    """
    if everywhere is not None:
        yield "schedule.max_length: not every row can be cut; give it to the tasks that it is for, under 'tasks'"
    for name, changed in tasks.items():
        for field in (field for field in OF_ROWS if name in study.corpora and field in changed):
            yield f"tasks.{name}.{field}: the blocks of a corpus have one length; leave it out"
        if changed.get("max_length") is None:
            continue
        if name in study.corpora:
            yield f"tasks.{name}.max_length: the blocks of a corpus have one length, its 'block'"
        elif name in study.tasks and not study.tasks[name].of_single_texts:
            yield f"tasks.{name}.max_length: only single texts are cut, and the rows of '{name}' hold two"


def check_positions(study: Study) -> Iterator[Found]:
    """Yield a line for each task, corpus or exhibit with longer texts than one of its models has positions for."""
    for (paper, name), exhibit in study.exhibits.items():
        for student in exhibit.students():
            for task in dict.fromkeys(task for task, _ in exhibit.metrics_of(student) if task in study.tasks):
                length = study.tasks[task].max_length
                for line in _too_long(study, student, f"max_length: rows of {length} tokens", length):
                    yield study.files["tasks", task], line
            for timing in sorted(exhibit.timed.get(student, ())):
                path, key = study.place_of(paper, name)
                for line in _too_long(
                    study, student, f"{key}length: timed rows of {timing.length} tokens", timing.length
                ):
                    yield path, line
    for name, student_spec in study.students.items():
        for corpus in dict.fromkeys(stage.data for stage in student_spec.stages if stage.data in study.corpora):
            length = study.corpora[corpus].block
            for line in _too_long(study, name, f"block: {length} tokens", length):
                yield study.files["corpora", corpus], line


def _too_long(study: Study, name: str, what: str, length: int) -> Iterator[str]:
    """Yield a line for each known model behind a student or teacher that has fewer positions than `length`."""
    student = study.students.get(name)
    teacher = study.teachers.get(student.teacher if student else name)
    for model in (student and student.initialisation.checkpoint, teacher and teacher.model):
        if model in study.models and length > study.models[model].positions:
            yield f"{what}, and model '{model}' takes {study.models[model].positions}"


def check_scale(study: Study, name: str, scale: Scale) -> Iterator[Found]:
    """Yield a line for each unknown model, corpus, task or paper by which a scale replaces what papers print."""
    if scale.replacements is None or all(paper.ours for paper in study.papers.values()):
        return
    new, tasks, papers = scale.replacements, study.tasks, study.all_papers
    named: list[tuple[str, str, Collection[str], Collection[str]]] = [
        ("model", "model", [new.model], study.models),
        ("corpus", "corpus", [new.corpus], study.corpora),
        ("tasks", "task", new.tasks, tasks),
        ("training_of", "paper", new.training_of, papers),
        ("tasks_of", "paper", new.tasks_of, papers),
        *((f"tasks_of.{paper}", "task", own, tasks) for paper, own in new.tasks_of.items()),
    ]
    for key, noun, names, known in named:
        for each in names:
            for line in study.wrong_name(f"replacements.{key}", noun, each, known):
                yield study.folder / "scales" / f"{name}.yaml", line


def check_sources(study: Study) -> Iterator[Found]:
    """Yield a line for each hub commit without a note of where it was read, and each scored task without files."""
    for name, source in study.sources.items():
        if isinstance(source, HubSource) and source.hub.commit and not source.hub.found:
            yield study.files["sources", name], "hub.found: say where the commit was read"
    for name in sorted(tasks_scored(study)):
        task = study.tasks[name]
        try:
            for split in task.used if task.splits else []:
                files_of(study, task, split)
        except RetortError as error:  # the other splits would repeat the same problem
            yield study.files["tasks", name], str(error)
