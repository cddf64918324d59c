"""Make a study in miniature: every job of the published papers, with narrow models and few steps, on made data.

Depths, numbers of heads, objectives, mappings, initialisations and stages stay as reported. A latency that a paper
measures on a GPU is measured on the device of the job.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from retort.specs.base import Settings
from retort.specs.corpus import Corpus
from retort.specs.exhibit import shown_students
from retort.specs.model import Architecture, Made, MadeModel, MadeRows, MadeSource, MadeTexts
from retort.specs.protocol import Protocol, SearchGrid
from retort.specs.scale import Miniature
from retort.specs.student import Stage
from retort.specs.task import Task
from retort.specs.task_files import FileSplit
from retort.study.questions import stages_of
from retort.study.study import Study

Node = tuple[str, str]  # ('models' or 'students', name)
DIVISORS = ("heads", "splits")  # options by which an objective divides a width
HEAD = 2  # the width of the narrowest head: with 1, a softmax or a norm over it would be constant
LENGTHS = {"steps", "epochs", "batch_size"}  # of a schedule; only the scale sets these
SHORTEST = 12  # tokens: a question, a context and three special tokens
WORDS_A_DOCUMENT = 30


def make_miniature(study: Study, miniature: Miniature) -> None:
    """Change the study, in place, into one in miniature whose sources are made from a seed.

    Args:
        study: the study, free of problems.
        miniature: how small it becomes.
    """
    widths = _narrow_widths(study)
    for name, model in study.models.items():
        shape = _narrow(model.architecture, widths["models", name])
        study.models[name] = model.model_copy(update={"architecture": shape, "vocabulary": miniature.vocabulary})
    for name, student in study.students.items():
        shape = _narrow(student.architecture, widths["students", name])
        stages, grid = [_shrink_stage(stage, miniature) for stage in student.stages], student.grid
        changed = {"architecture": shape, "stages": stages, "grid": grid and _shrink_grid(grid, miniature)}
        study.students[name] = student.model_copy(update=changed)
    compared = _compared_protocols(study)
    for name, protocol in study.protocols.items():
        seeds = miniature.seeds_compared if name in compared else miniature.seeds
        study.protocols[name] = _shrink_protocol(protocol, miniature, seeds)
    for name, corpus in study.corpora.items():
        study.corpora[name] = _shrink_corpus(corpus, miniature)
    for name, task in study.tasks.items():
        study.tasks[name] = _shrink_task(task, miniature)
    for key, exhibit in study.exhibits.items():
        study.exhibits[key] = exhibit.timed_without_gpu()
    for name in study.sources:
        study.sources[name] = _made_source(study, name, miniature)


def _compared_protocols(study: Study) -> set[str]:
    """Return the protocols of the students whose rows paired tests compare; a test needs two seeds of each."""
    tables = {(paper, name) for (paper, _), exhibit in study.exhibits.items() for name in exhibit.compares()}
    students = {name for table in tables for name in shown_students(study.exhibits[table]) if name in study.students}
    return {study.students[name].protocol for name in students}


# --- widths


def _narrow(shape: Architecture, hidden: int) -> Architecture:
    """Return an architecture of another width, with the other widths in proportion."""
    sizes = {
        name: width and max(1, width * hidden // shape.hidden)
        for name, width in (("intermediate", shape.intermediate), ("embedding", shape.embedding))
    }
    return shape.model_copy(update={"hidden": hidden, **sizes})


def _narrow_widths(study: Study) -> dict[Node, int]:
    """Return the smallest width of each model and student that its heads, relation heads and splits divide.

    A student that is narrower than its teacher as reported stays narrower. One that is as wide, or that copies weights,
    stays as wide.
    """
    shapes = {("models", name): model.architecture for name, model in study.models.items()}
    shapes |= {("students", name): student.architecture for name, student in study.students.items()}
    groups = {node: {node} for node in shapes}  # of equal widths, as reported and in miniature
    for node, other in _equally_wide(study):
        groups |= dict.fromkeys(both := groups[node] | groups[other], both)
    group_of = {node: min(group) for node, group in groups.items()}
    multiple_of, neighbours = defaultdict[Node, int](lambda: 1), defaultdict[Node, set[Node]](set)
    for node, shape in shapes.items():
        multiple_of[group_of[node]] = math.lcm(multiple_of[group_of[node]], HEAD * shape.heads)
    for name, student in study.students.items():
        teacher = study.teachers[student.teacher].model
        pair = group_of["students", name], group_of["models", teacher]
        neighbours[pair[0]].add(pair[1])
        neighbours[pair[1]].add(pair[0])
        terms = [term for stage in stages_of(student) for term in stage.terms]
        values = [term.options.get(key) for term in terms for key in DIVISORS]
        if any("heads" not in term.options for term in terms):  # then some cut both widths into the teacher's heads
            values.append(study.models[teacher].architecture.heads)
        for group in pair:
            multiple_of[group] = math.lcm(multiple_of[group], *(n for n in values if isinstance(n, int)))
    widths: dict[Node, int] = {}
    for group in sorted(set(group_of.values()), key=lambda group: (shapes[group].hidden, group)):
        reported = shapes[group].hidden
        narrower = [widths[n] for n in neighbours[group] if n in widths and shapes[n].hidden < reported]
        widths[group] = (max(narrower, default=0) // multiple_of[group] + 1) * multiple_of[group]
    return {node: widths[group_of[node]] for node in shapes}


def _equally_wide(study: Study) -> Iterator[tuple[Node, Node]]:
    """Yield each student with each model or student whose weights it copies, and with its teacher if it is as wide."""
    for name, student in study.students.items():
        node, start = ("students", name), student.initialisation
        teacher = study.teachers[student.teacher].model
        if start.checkpoint:
            yield node, ("models", start.checkpoint)
        if start.student:
            yield node, ("students", start.student)
        same = student.architecture.widths == study.models[teacher].architecture.widths
        if same or student.initial_layers is not None:
            yield node, ("models", teacher)


# --- lengths


def _shorten(tokens: int, miniature: Miniature) -> int:
    return max(SHORTEST, tokens // miniature.shorter)


def _raise(rate: float, miniature: Miniature) -> float:
    """Return a higher learning rate, below 1 as every rate is; other rates stay others, so that a grid has its points.

    What the factor takes to 1 or more comes to lie between 0.999 and 1.
    """
    raised = rate * miniature.learning_rate_factor
    return raised if raised < 1 else 1 - 1e-3 / raised


def _change_schedule(changes: Settings, miniature: Miniature) -> Settings:
    """Return changes of a schedule without steps, epochs and batch size, with higher rates and shorter texts."""
    kept = {key: value for key, value in changes.items() if key not in LENGTHS}
    if "learning_rate" in kept:
        kept["learning_rate"] = _raise(kept["learning_rate"], miniature)
    return kept | ({"max_length": _shorten(kept["max_length"], miniature)} if kept.get("max_length") else {})


def _shrink_stage(stage: Stage, miniature: Miniature) -> Stage:
    changed: Settings = {
        "schedule": _change_schedule(stage.schedule, miniature),
        "steps_factor": 1.0,
        "tasks": {task: _change_schedule(changes, miniature) for task, changes in stage.tasks.items()},
    }
    return stage.model_copy(update=changed)


def _shrink_grid(grid: SearchGrid, miniature: Miniature) -> SearchGrid:
    """Return a grid with the first values of one axis, and one value of the others; learning rates are raised.

    The axis is the first one, but for lengths, with several values; two batch sizes stand in for lengths alone.
    """
    axes, left = {}, miniature.points
    for key, values in grid.axes.items():
        if (field := key.rpartition(".")[2]) not in {*LENGTHS, "steps_factor"}:
            first = values[: left if len(values) > 1 else 1]
            left = 1 if len(first) > 1 else left
            axes[key] = [_raise(rate, miniature) for rate in first] if field == "learning_rate" else first
    several = len(grid.points()) > 1 and left > 1
    axes["batch_size"] = [miniature.batch_size, miniature.batch_size + 1] if several else [miniature.batch_size]
    return SearchGrid.model_validate({**axes, "seed": grid.seed})


def _shrink_protocol(protocol: Protocol, miniature: Miniature, seeds: int) -> Protocol:
    schedule = _change_schedule(dict(protocol.schedule), miniature)
    schedule |= {"steps": miniature.steps, "epochs": None, "batch_size": miniature.batch_size}
    changed: Settings = {
        "schedule": protocol.schedule.model_copy(update=schedule),
        "tasks": {task: _change_schedule(changes, miniature) for task, changes in protocol.tasks.items()},
        "grid": protocol.grid and _shrink_grid(protocol.grid, miniature),
        "grids": {task: _shrink_grid(grid, miniature) for task, grid in protocol.grids.items()},
        "seeds": protocol.seeds[:seeds],
        "distillation_seeds": protocol.distillation_seeds[:seeds],
    }
    return protocol.model_copy(update=changed)


def _shrink_corpus(corpus: Corpus, miniature: Miniature) -> Corpus:
    shares = {"blocks": miniature.blocks, "block": _shorten(corpus.block, miniature)}
    components = [component.model_copy(update={"sample": 1.0}) for component in corpus.components]
    return corpus.model_copy(update={**shares, "components": components})


def _shrink_task(task: Task, miniature: Miniature) -> Task:
    changed: dict[str, object] = {"max_length": _shorten(task.max_length, miniature)}
    if task.windows:
        overlap, question = task.windows.overlap, task.windows.question
        windows = {"overlap": overlap // miniature.shorter, "question": max(4, question // miniature.shorter)}
        changed["windows"] = task.windows.model_copy(update=windows)
    changed["splits"] = {
        name: split.model_copy(
            update={"rows": miniature.rows.train if name == task.train_split else miniature.rows.others}
        )
        for name, split in task.splits.items()
    }
    if task.split:
        changed["split"] = task.split.model_copy(update=dict.fromkeys(("dev", "test"), miniature.rows.others))
    return task.model_copy(update=changed)


# --- what sources hold


def _made_source(study: Study, name: str, miniature: Miniature) -> MadeSource:
    """Return a made source with all files that the study reads of a source, in the formats of local folders."""
    models = [
        MadeModel(
            family=miniature.family(key),
            architecture=model.architecture,
            vocabulary=model.vocabulary,
            positions=model.positions,
            masked_lm=model.masked_lm,
            tokenizer=model.tokenizer is None,
        )
        for key, model in study.models.items()
        if model.source == name
    ]
    made = Made(
        seed=miniature.seed,
        rows=_files_of_tasks(study, name),
        texts=_files_of_corpora(study, name, miniature),
        model=next(iter(models), None),
    )
    return MadeSource(title=study.sources[name].title, made=made)


def _files_of_tasks(study: Study, source: str) -> list[MadeRows]:
    """Return the files of rows that tasks read of a source; two tasks may read the same file."""
    files: dict[str, MadeRows] = {}
    for task in study.tasks.values():
        for name, split in task.filed.items() if "local" in task.read else ():
            if (split.source or task.source) == source and name in task.read["local"].files:
                for made in _rows_of(task, name, split):
                    known = files.get(made.file)
                    columns = made.columns | (known.columns if known else {})
                    files[made.file] = made.model_copy(update={"columns": columns})
    return list(files.values())


def _rows_of(task: Task, name: str, split: FileSplit) -> list[MadeRows]:
    files = task.read["local"]
    read = files.of(name)
    return [
        MadeRows(
            file=files.files[name].replace("{subset}", subset or ""),
            format=files.format,
            options=read.options,
            columns=read.columns,
            task_type=task.task_type,
            labels=(files.label_names or task.labels) if task.labels else [],
            bounds=task.bounds,
            labelled=split.labelled,
            language=subset or "en",
            count=(split.expected(subset) or [4 * task.split.test if task.split else 0])[0],
            long=2 * task.max_length if task.windows else 0,
        )
        for subset in (task.subsets if split.subsets else [None])
    ]


def _files_of_corpora(study: Study, source: str, miniature: Miniature) -> list[MadeTexts]:
    """Return the files of texts that corpora read of a source, with enough words for all of their blocks."""
    files: dict[str, MadeTexts] = {}
    for corpus in study.corpora.values():
        tokens = miniature.blocks * corpus.block
        for component in (each for each in corpus.components if each.source == source):
            for pattern in component.files:
                file = pattern.replace("**/", "").replace("*", "0000")
                documents = max(8, 2 * tokens // WORDS_A_DOCUMENT)
                documents = max(documents, files[file].documents if file in files else 0)
                files[file] = MadeTexts(
                    file=file, format=component.format, language=component.language.split("-")[0], documents=documents
                )
    return list(files.values())
