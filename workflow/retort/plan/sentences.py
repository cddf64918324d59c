"""Say what a student, a teacher or a protocol is, from its settings alone, as a paper would.

Of a student, a sentence says what it is and learns from, and another one how it is trained: length, learning rate and
batch size of each training, and what the student changes of its protocol. What the protocol says beside, and of single
tasks, stands in the protocol's own sentence.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from retort.specs import catalogue
from retort.specs.base import Spec
from retort.specs.model import Architecture
from retort.specs.protocol import Grid, Protocol, Schedule
from retort.specs.student import Stage, Student, Term
from retort.study import questions
from retort.study.questions import layer_pairs
from retort.study.study import Study

# a word of an objective's name -> how papers write it
WORDS = {
    "supervised": "labels", "lm": "words", "cls": "[CLS]", "sequence": "states", "mse": "MSE", "kl": "KL", "mha": "MHA",
    "emd": "earth mover's distance", "direct": "DirectMiniLM", "output": "",
}  # fmt: skip
# a setting -> how its value is said; a setting that is missing here is said as 'setting value'
PHRASES = {
    "steps": "{} steps", "epochs": "{} epochs", "batch_size": "batch {}", "learning_rate": "rate {}",
    "decay_steps": "falling to 0 at step {}",
    "warmup_ratio": "warm-up {}", "weight_decay": "decay {}", "betas": "betas {}", "epsilon": "epsilon {}",
    "max_grad_norm": "clipping at {}", "max_length": "{} tokens", "freeze": "{} frozen",
    "temperature": "T = {}", "heads": "{} relation heads", "splits": "{} splits", "split": "heads by {}",
    "pairs": "{}", "normaliser": "{}", "mean_over": "mean over {}", "smoothing": "weights smoothed by {}",
    "reading": "as {}", "negatives": "{} negatives", "size": "width {}",
}  # fmt: skip
# (setting, value) -> how that is said; other switches are said as 'switch' or 'not switch'
SAID = {
    ("group_by_length", False): "random batches", ("load_best_model_at_end", True): "best epoch on dev",
    ("pad_to_max_length", True): "padded to full length", ("teacher_dropout", True): "teacher with dropout",
    ("squared", False): "no T²", ("divergence", True): "as KL", ("class_mean", True): "class mean",
    ("width_mean", True): "width mean", ("count_padding", True): "padding counts", ("dropout", False): "no dropout",
    ("redraw", True): "drawn per batch", ("pooler_relu", True): "a ReLU behind the pooler", ("map", "never"): "no map",
    ("max_grad_norm", 0): "no clipping", ("warmup_ratio", 0): "no warm-up",
    ("lr_scheduler_type", "constant_with_warmup"): "constant rate", ("lr_scheduler_type", "linear"): "linear decay",
}  # fmt: skip
MAIN = ("steps", "epochs", "learning_rate", "batch_size")  # of a schedule: always said


def text_of(value: Any, last: str = ", ") -> str:
    """Return a value as papers write it: 400,000, 2e-5, and lists with `last` before their last entry."""
    if isinstance(value, list | tuple):
        *first, end = map(text_of, value)
        return f"{', '.join(first)}{last}{end}" if first else end
    if isinstance(value, float) and 0 < value < 0.01:
        digits, _, exponent = f"{value:.7e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)


def phrase(key: str, value: Any) -> str:
    """Return how the value of a setting is said."""
    word = key.replace("_", " ")
    if not isinstance(value, list | tuple) and (key, value) in SAID:
        return SAID[key, value]
    if isinstance(value, bool):
        return word if value else f"not {word}"
    said = value.replace("-", " ").replace("_", " ") if isinstance(value, str) else text_of(value)
    return PHRASES.get(key, f"{word} {{}}").format(said)


def counted(noun: str, numbers: Iterable[int]) -> str:
    """Return a noun with its numbers: 'layer 6', 'layers 2 and 4', 'layers 1 to 4'."""
    found = list(numbers)
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{noun}s {found[0]} to {found[-1]}"
    return f"{noun}{'s' * (len(found) > 1)} {text_of(found, ' and ')}"


def _by_task(tasks: Mapping[str, list[str]]) -> list[str]:
    """Return what holds on single tasks, once for those with the same words: task -> words."""
    on: dict[str, list[str]] = {}
    for task, words in tasks.items():
        on.setdefault(text_of(words), []).append(task)
    return [f"on {text_of(names, ' and ')} {words}" for words, names in on.items()]


def _changes(changes: Iterable[tuple[str, Any]]) -> list[str]:
    return [phrase(key, value) for key, value in changes if value is not None]


# --- a student

SAID_OF_A_STUDENT = {
    "title", "teacher", "architecture", "initialisation", "stages", "protocol", "tasks", "grid", "deviations",
}  # fmt: skip


def _shape(shape: Architecture) -> str:
    words = [f"{shape.layers} layer{'s' * (shape.layers > 1)} of width {shape.hidden}", f"{shape.heads} heads"]
    words += [f"inner {shape.intermediate}"] * (shape.intermediate != 4 * shape.hidden)
    words += [f"embeddings of {shape.embedding}"] * (shape.embedding is not None)
    return ", ".join(words)


def _start(study: Study, student: Student) -> str:
    start = student.initialisation
    if start.student or start.checkpoint:
        return f"from {start.student or start.checkpoint}"
    if student.initial_layers is None:
        return "random first weights"
    of = "the teacher" if start.of == "teacher" else study.teachers[student.teacher].model
    return f"{counted('layer', student.initial_layers)} of {of}{' with new heads' * start.new_heads}"


def _mapped(pairs: list[tuple[int, int]], student_layers: int) -> str:
    """Return which student layers learn from which teacher layers."""
    by_layer: dict[int, list[int]] = {}
    for own, theirs in pairs:
        by_layer.setdefault(own, []).append(theirs)
    with_each = [(own, theirs) for own in by_layer for theirs in range(pairs[0][1], pairs[-1][1] + 1)]
    if len(pairs) > len(by_layer) > 1 and pairs == with_each:
        return f"{counted('layer', by_layer)} with each of {pairs[0][1]} to {pairs[-1][1]}"
    taught = [each[0] if len(each) == 1 else "+".join(map(str, each)) for each in by_layer.values()]
    if list(by_layer) in ([student_layers], list(range(1, student_layers + 1))):
        return f"layer{'s' * (len(taught) > 1)} {text_of(taught)}"
    return f"{counted('layer', by_layer)} from {text_of(taught)}"


def _name(term: Term) -> str:
    return " ".join(filter(None, (WORDS.get(word, word) for word in term.objective.split("-"))))


def _details(study: Study, student: Student, term: Term) -> list[str]:
    """Return layers and options of a term: numbers and lists always, switches where they are not the default."""
    entry, details = catalogue.objectives()[term.objective], []
    if term.mapping is not None:
        depth = study.model_of(student.teacher).architecture.layers
        pairs = layer_pairs(term, student.architecture.layers, depth, student.initial_layers)
        details.append(_mapped(pairs, student.architecture.layers))
    for key, value in {**entry.options, **term.options}.items():
        is_measure = isinstance(value, int | float | list) and key != "seed" and value not in (0, 1)
        if is_measure or value != entry.options[key]:
            details.append(phrase(key, value))
    return details


def _loss(study: Study, student: Student, stage: Stage) -> str:
    """Return the sum of a stage's terms; what all of them have in common stands at the end."""
    details = [_details(study, student, term) for term in stage.terms]
    common = [each for each in details[0] if len(details) > 1 and all(each in others for others in details[1:])]
    weighted, said, terms = any(term.weight != 1 for term in stage.terms), set[str](), []
    for term, own in zip(stage.terms, details, strict=True):
        words = ["same layers" if each in said else each for each in own if each not in common]
        said |= {each for each in own if each.startswith("layers ")}
        weight = f"{text_of(term.weight)} " * weighted
        terms.append(f"{weight}{_name(term)}{f' ({text_of(words)})' if words else ''}")
    on = "" if stage.data == "task" else f" on {stage.data}"
    return f"{' + '.join(terms)}{f' (all: {text_of(common)})' if common else ''}{on}"


def _extras(spec: Spec, said: Container[str]) -> list[str]:
    """Return the other fields of a spec that have not their default."""
    fields = {key: field.get_default(call_default_factory=True) for key, field in type(spec).model_fields.items()}
    return _changes((key, value) for key, value in spec if key not in said and value != fields[key])


def _training(protocol: Protocol, stage: Stage, tried: Container[str]) -> list[str]:
    """Return length, rate and batch size of a stage, unless they are tried, and what it changes in its protocol."""
    data = "" if stage.data == "task" else stage.data
    usual = protocol.for_task(data)
    own = protocol.for_task(data, stage.schedule).scaled(stage.steps_factor)
    said = {key: value for key, value in own if key in MAIN or value != getattr(usual, key)}
    words = _changes((key, value) for key, value in said.items() if key not in tried)
    return words + _extras(stage, {"data", "terms", "schedule", "tasks", "steps_factor"})


def _on_tasks(stage: Stage) -> list[str]:
    """Return what a stage changes on single tasks: its schedule, and the terms that it leaves out."""
    words = {task: _changes(changes.items()) for task, changes in stage.tasks.items()}
    for task in dict.fromkeys(task for term in stage.terms for task in term.not_on):
        left, gone = stage.on(task), [term for term in stage.terms if task in term.not_on]
        said = [f"{_name(left[0])} alone"] if len(left) == 1 else [f"no {_name(term)}" for term in gone]
        words.setdefault(task, []).extend(said)
    return _by_task(words)


def _trainings(study: Study, student: Student, tried: Container[str]) -> Iterator[str]:
    """Yield a clause on what the trainings of all stages have in common, and one for each that has something else."""
    trainings = [_training(study.protocols[student.protocol], stage, tried) for stage in student.stages]
    common = [each for each in trainings[0] if all(each in training for training in trainings)]
    several = len(trainings) > 1
    if common:
        yield f"{'each stage ' * several}{text_of(common)}"
    for number, (stage, training) in enumerate(zip(student.stages, trainings, strict=True), start=1):
        own = [text_of([each for each in training if each not in common] or [""]), *_on_tasks(stage)]
        if any(own):
            yield f"{f'stage {number}: ' * several}{'; '.join(filter(None, own))}"


def _grid(grid: Grid | None, stages: Sequence[Stage] = ()) -> list[str]:
    """Return the values that a grid tries; `stages` are those that its axes are about."""
    axes = grid.axes.items() if grid else ()
    words = [_axis(key, text_of(values, " or "), stages) for key, values in axes]
    return words + [f"trials of seed {grid.seed}"] * (grid.seed != 1) if grid else words


def _axis(key: str, values: str, stages: Sequence[Stage]) -> str:
    """Return the values of an axis: 'rate 2e-5 or 5e-5', 'T = 5 or 10 of soft labels', 'stage 2: batch 16 or 32'."""
    stage, of, last = "", "", key.rpartition(".")[2]
    if found := re.match(r"stages\.(\d+)\.(?:terms\.(\d+)\.)?", key):
        stage = f"stage {found[1]}: " * (len(stages) > 1)
        of = f" of {_name(stages[int(found[1]) - 1].terms[int(found[2]) - 1])}" if found[2] else ""
    return f"{stage}{PHRASES.get(last, last.replace('_', ' ') + ' {}').format(values)}{of}"


def _how(study: Study, name: str) -> Iterator[str]:
    """Yield the clauses on how a student is trained."""
    student, grid = study.students[name], questions.grid_of(study, name, "")
    protocol, tried = study.protocols[student.protocol], grid.axes if grid else {}
    on_task = student.distilled_on == "task"
    if student.stages:
        yield from _trainings(study, student, tried if on_task else ())
    if on_task and grid:
        yield f"tried: {text_of(_grid(grid, student.stages))}"
    if not on_task:
        main = _changes((key, value) for key, value in protocol.schedule if key in MAIN and key not in tried)
        yield f"fine-tuned: {text_of(main + _grid(grid))}"
    if student.tasks:
        yield f"only on {text_of(student.tasks, ' and ')}"
    yield f"{counted('seed', protocol.seeds)}, protocol {student.protocol}"
    yield from _extras(student, SAID_OF_A_STUDENT)


def of_student(study: Study, name: str) -> list[str]:
    """Return the sentences on a student.

    Args:
        study: the study.
        name: the full name of a student.
    """
    student = study.students[name]
    prefix = f"{study.paper_of(name)}-"
    stages = [_loss(study, student, stage) for stage in student.stages]
    what = [
        _shape(student.architecture),
        _start(study, student).replace(f"from {prefix}", "from "),
        f"{'teacher' if stages else 'tokenizer of'} {student.teacher.removeprefix(prefix)}",
        *(f"stage {number}: {loss}" if len(stages) > 1 else f"loss = {loss}" for number, loss in enumerate(stages, 1)),
    ]
    return [_sentence(what), _sentence(_how(study, name))]


def _sentence(clauses: Iterable[str]) -> str:
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}."


# --- what students name


def of_protocol(protocol: Protocol) -> str:
    """Return the sentence on a protocol: all in which it differs from the defaults of a schedule."""
    usual = {name: field.default for name, field in Schedule.model_fields.items()}
    grids = {"": protocol.grid, **protocol.grids}
    clauses = [
        text_of(_changes((key, value) for key, value in protocol.schedule if key in MAIN or value != usual[key])),
        *_by_task({task: _changes(changes.items()) for task, changes in protocol.tasks.items()}),
        *(f"grid{f' on {task}' * bool(task)}: {text_of(_grid(grid))}" for task, grid in grids.items() if grid),
        *_by_task({task: [f"chosen by {metric}"] for task, metric in protocol.metric_for_best_model.items()}),
        counted("seed", protocol.seeds),
        *[f"version {protocol.version}"] * (protocol.version > 1),
    ]
    return _sentence(clauses)


def of_teacher(study: Study, name: str) -> str:
    """Return the sentence on a teacher."""
    teacher = study.teachers[name]
    clauses = [teacher.model, f"where it is fine-tuned, protocol {teacher.protocol}, seed {teacher.seed}"]
    return "; ".join(clauses + [f"version {teacher.version}"] * (teacher.version > 1)) + "."
