"""Tests of the sentences on students: they are short, and every setting that decides a number changes one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from retort.plan import sentences
from retort.specs import catalogue
from retort.specs.config import Config
from retort.specs.protocol import Grid, Protocol
from retort.specs.student import Student, Term
from retort.study.load import open_whole
from retort.study.study import Study

from tests.tiny.make import STUDY

TEXTS = {"title", "deviations"}  # fields that decide no number
# another value of a field whose value cannot be changed by its type: one that is not set, a name, or one of few
OTHERS: dict[str, list[Any]] = {
    "steps": [7], "epochs": [7.0], "decay_steps": [90], "dropout": [0.3], "max_length": [9], "freeze": [["encoder"]],
    "lr_scheduler_type": ["constant_with_warmup"], "embedding": [8], "layers": [[1, 3]], "of": ["model"],
    "student": ["tiny-narrow"], "checkpoint": ["encoder"], "teacher": ["tiny-other"], "protocol": ["other"],
    "data": ["other"], "objective": ["hidden-cls"], "mapping": ["last", "first"],
    "tasks": [["mood"], {"mood": {"epochs": 3}}],
    "options": [{"temperature": 3.0}], "not_on": [["mood"]], "schedule": [{"weight_decay": 0.5}],
    "grid": [Grid(learning_rate=[0.1, 0.2])],
    "grids": [{"mood": Grid(learning_rate=[0.1], batch_size=[8])}], "metric_for_best_model": [{"mood": "f1"}],
}  # fmt: skip
ALONE = {"student", "checkpoint", "random", "truncated"}  # ways to start that replace another


@pytest.fixture(scope="module")
def whole() -> Study:
    """Return the study of every paper, as its files have it."""
    return open_whole(Config())


def test_every_student_has_sentences_of_less_than_400_characters(whole: Study) -> None:
    found = {name: sentences.of_student(whole, name) for name in whole.students}
    assert [name for name, texts in found.items() if max(map(len, texts)) >= 400] == []
    assert all(text[0] == text[0].upper() and text.endswith(".") for texts in found.values() for text in texts)


def test_students_that_differ_have_other_sentences(whole: Study) -> None:
    settings = {
        name: (whole.paper_of(name), student.model_dump_json(exclude=TEXTS)) for name, student in whole.students.items()
    }
    said = {name: (whole.paper_of(name), *sentences.of_student(whole, name)) for name in whole.students}
    assert len(set(said.values())) == len(set(settings.values()))


def test_a_student_in_words(whole: Study) -> None:
    assert sentences.of_student(whole, "mlkd2024-pkd-4") == [
        "4 layers of width 768, 12 heads; layers 1 to 4 of bert-base-uncased; teacher bert-base; "
        "loss = 33.333333 patient [CLS] (layers 1 to 3 from 3, 6, 9, width mean) + 0.5 soft labels (T = 5, class mean) "
        "+ 0.5 labels.",
        "4 epochs, batch 32, rate 2e-5; seed 1, protocol mlkd2024-baselines.",
    ]


def others(key: str, value: Any) -> list[Any]:
    """Return other values of a field."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1]
    if isinstance(value, tuple | list) and value and all(isinstance(each, int | float) for each in value):
        return [[*value[:-1], value[-1] + 1]]
    return [other for other in OTHERS[key] if other != value and (value is None or isinstance(other, type(value)))]


def changed(spec: BaseModel) -> Iterator[tuple[str, Any]]:
    """Yield (keys, copy) for each field of a spec and of the specs in it, with another value of the field."""
    for key in type(spec).model_fields.keys() - TEXTS:
        value = getattr(spec, key)
        inner = value if isinstance(value, list) else [value]
        if inner and all(isinstance(each, BaseModel) for each in inner):
            for place, each in enumerate(inner):
                for keys, copy in changed(each):
                    new = [*inner[:place], copy, *inner[place + 1 :]] if isinstance(value, list) else copy
                    yield f"{key}.{keys}", spec.model_copy(update={key: new})
        else:
            alone = {"layers": None, "truncated": False, "random": False} if key in ALONE else {}
            for other in others(key, value):
                yield key, spec.model_copy(update={**alone, key: other})


def tiny(**entries: dict[str, Any]) -> Study:
    """Return the tiny study, with copies of its entries under other names, and entries that replace some."""
    study = open_whole(Config(papers=["tiny"], study=str(STUDY)))
    study.protocols["other"] = study.protocols["short"]
    study.corpora["other"] = study.corpora["sentences"]
    study.teachers["tiny-other"] = study.teachers["tiny-teacher"]
    for field, values in entries.items():
        getattr(study, field).update(values)
    return study


@pytest.mark.parametrize("name", ["tiny-attention", "tiny-narrow"])
def test_every_setting_of_a_student_changes_its_sentences(name: str) -> None:
    study = tiny()
    student: Student = study.students[name]
    before, same = sentences.of_student(study, name), set()
    for keys, copy in changed(student):
        if sentences.of_student(tiny(students={name: copy}), name) == before:
            same.add(keys)
    # of 'narrow', no layers are copied, and without `random` it would have no first weights
    meaningless = {"initialisation.new_heads", "initialisation.of", "initialisation.random"}
    assert same - (meaningless if name == "tiny-narrow" else set()) == set()


def another(default: Any, kind: Any) -> Any:
    """Return another value of an option."""
    if isinstance(default, str):
        return next(value for value in get_args(kind) if value != default)
    if isinstance(default, list):
        return default[1:]
    return not default if isinstance(default, bool) else (default or 0) + 2


@pytest.mark.parametrize("objective", sorted(catalogue.objectives()))
def test_every_option_of_an_objective_changes_the_sentences(objective: str) -> None:
    entry = catalogue.objectives()[objective]
    student = tiny().students["tiny-attention"]

    def said(**options: Any) -> list[str]:
        term = Term(
            objective=objective, mapping="last" if entry.level in ("layer", "layers") else None, options=options
        )
        stage = student.stages[0].model_copy(update={"terms": [term]})
        copy = student.model_copy(update={"stages": [stage]})
        return sentences.of_student(tiny(students={"tiny-attention": copy}), "tiny-attention")

    for option, default in entry.options.items():
        other = another(default, entry.types[option])
        assert said(**{option: other}) != said(), option


def test_every_setting_of_a_protocol_changes_its_sentence() -> None:
    protocol: Protocol = tiny().protocols["short"]
    before = sentences.of_protocol(protocol)
    assert [keys for keys, copy in changed(protocol) if sentences.of_protocol(copy) == before] == []


@pytest.mark.parametrize("field", ["steps", "batch_size", "learning_rate"])
def test_a_student_says_length_batch_and_rate_of_its_protocol(field: str) -> None:
    study = tiny()
    schedule = study.protocols["short"].schedule
    copy = study.protocols["short"].model_copy(
        update={"schedule": schedule.model_copy(update={field: getattr(schedule, field) * 2})}
    )
    assert sentences.of_student(tiny(protocols={"short": copy}), "tiny-kd") != sentences.of_student(study, "tiny-kd")
