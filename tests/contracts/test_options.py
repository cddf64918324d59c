"""Contracts on options of objectives: what cannot be computed is refused, and at all limits losses are finite."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError
from retort.batch import Shape
from retort.errors import RetortError
from retort.objectives import objectives
from retort.specs import catalogue
from retort.specs.catalogue import wrong_options
from retort.specs.model import Architecture
from retort.specs.student import Requirements, Stage, Term
from retort.study import check_entries

from tests.references.examples import MANY_HEADS, NARROW, PADDED, WIDE, Case, batch_of, both, compose
from tests.references.objectives import CASES
from tests.references.plain import cases_of

SHAPES = [NARROW, WIDE, MANY_HEADS, Shape(width=20, heads=4, intermediate=40, num_labels=3)]
MAPPINGS = {"layer": "last", "layers": "emd"}
PARTS = [2, 3, 4, 5]  # values of an option that counts heads or splits


def values(name: str, option: str) -> list[Any]:
    """Return values of an option: the default, its other choices, and numbers of parts where it must divide widths."""
    entry = catalogue.objectives()[name]
    default = entry.options[option]
    if option in Requirements.of(entry.facts).divides_widths:
        return [default, *PARTS]
    if isinstance(default, bool):
        return [False, True]
    return list(get_args(entry.types[option])) if isinstance(default, str) else [default]


def variants(name: str) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values of options that requirements name, and each value of each other option.

    The rest is as in the objective's first example case.
    """
    example = cases_of(name)[0].options
    entry = catalogue.objectives()[name]
    requirements = Requirements.of(entry.facts)
    conditions = (requirements.equal_heads, requirements.equal_widths, requirements.divides_teacher_heads)
    related = {*requirements.divides_widths, *(key for rule in conditions if isinstance(rule, dict) for key in rule)}
    related &= set(entry.options)
    for group in (related, *({option} for option in entry.options if option not in related)):
        for combination in itertools.product(*(values(name, option) for option in group)):
            options = {**example, **dict(zip(group, combination, strict=True))}
            yield {option: value for option, value in options.items() if value is not None}


def term_of(name: str, options: dict[str, Any]) -> Term:
    """Return a term that has a mapping if its objective needs one."""
    return Term(objective=name, mapping=MAPPINGS.get(catalogue.objectives()[name].level), options=options)


def is_refused(term: Term, student: Shape, teacher: Shape) -> bool:
    """Return whether the checks find a problem, without torch."""
    shapes = [
        Architecture(layers=2, heads=shape.heads, hidden=shape.width, intermediate=shape.intermediate)
        for shape in (student, teacher)
    ]
    return any(check_entries.term_problems(term, *shapes))


def is_computed(case: Case) -> bool:
    """Return whether the objective itself, without any check before it, gives a loss for the case."""
    try:
        case.build()(*both(case), batch_of(case, PADDED))
    except (RuntimeError, ValueError):
        return False
    return True


@pytest.mark.filterwarnings("ignore:Using a target size")  # PyTorch warns before it raises
@pytest.mark.parametrize("pair", list(itertools.product(SHAPES, SHAPES)), ids=str)
@pytest.mark.parametrize("name", objectives)
def test_a_student_is_refused_exactly_if_its_loss_cannot_be_computed(name: str, pair: tuple[Shape, Shape]) -> None:
    for options in variants(name):
        refused = is_refused(term_of(name, options), *pair)
        assert refused != is_computed(Case(name, options, *pair)), (options, pair)


WHY: list[tuple[str, dict[str, Any], tuple[Shape, Shape], str]] = [
    ("attention-kl", {}, (NARROW, MANY_HEADS), "the student has 3 attention heads and its teacher 6; "),
    ("relations", {"heads": 48}, (NARROW, WIDE), "the student's width 12 cannot be cut into 48 heads; "),
    ("relations", {"heads": 4, "weights": [1.0]}, (NARROW, WIDE), "there are 3 'pairs' and 1 'weights'; "),
    ("direct", {"heads": 8}, (WIDE, NARROW), "the teacher's width 12 cannot be cut into 8 heads; "),
    ("hidden-cls", {"map": "never"}, (NARROW, WIDE), "widths 12 and 24 cannot be compared without a map; "),
    ("mha-output-relation", {"splits": 4, "split": "average"}, (NARROW, MANY_HEADS),
     "the teacher's 6 heads cannot be divided among 4 splits; "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "pair", "said"), WHY)
def test_the_loss_and_the_checks_say_why(
    name: str, options: dict[str, Any], pair: tuple[Shape, Shape], said: str
) -> None:
    term = term_of(name, options)
    with pytest.raises(RetortError) as error:
        compose([{"objective": name, "mapping": term.mapping, "options": options}], *pair, 2, 2)
    built = str(error.value)
    assert built.startswith(said)
    shapes = [Architecture(layers=2, heads=s.heads, hidden=s.width, intermediate=9) for s in pair]
    (line,) = check_entries.term_problems(term, *shapes)
    assert line.endswith(f": objective '{name}': {built}")


@pytest.mark.parametrize("value", ["four", 4.5, True])
def test_an_option_without_a_default_has_a_type(value: object) -> None:
    (line,) = wrong_options(catalogue.objectives()["direct"], {"heads": value}, "options")
    assert line == f"options.heads: Input should be a valid integer, not {value!r}"
    assert wrong_options(catalogue.objectives()["direct"], {"heads": None}, "options") == []


# limits of numbers

ENTRIES = [
    entry
    for of_kind in (catalogue.objectives(), catalogue.formats(), catalogue.text_formats())
    for entry in of_kind.values()
]
NUMBERS = [
    (entry, name)
    for entry in ENTRIES
    for name in entry.options
    if name != "seed"
    and name not in entry.facts.get("divides_widths", ())  # a number that divides both widths has its limits
    and re.search("int|float", entry.annotations[name])
]


@pytest.mark.parametrize(("entry", "name"), NUMBERS, ids=[f"{entry.name}-{name}" for entry, name in NUMBERS])
def test_a_number_has_limits_that_its_default_keeps(entry: catalogue.Registered, name: str) -> None:
    default, is_list = entry.options[name], "list" in entry.annotations[name]

    def is_refused(value: Any) -> bool:
        return any(line.startswith(name) for line in wrong_options(entry, {name: value}, ""))

    assert default is None or not is_refused(default)
    assert any(is_refused([number] if is_list else number) for number in (-1, 2**40))


def test_limits_are_of_options() -> None:
    assert len(NUMBERS) > 14
    for entry in ENTRIES:
        assert set(entry.facts.get("limits", {})) <= set(entry.options), entry.name


TEMPERED = [(case, bound) for case in CASES if "temperature" in catalogue.objectives()[case.name].options
            for bound in ("ge", "le")]  # fmt: skip


@pytest.mark.parametrize(("case", "bound"), TEMPERED, ids=str)
def test_the_loss_is_finite_at_the_limits_of_the_temperature(case: Case, bound: str) -> None:
    temperature: Any = catalogue.objectives()[case.name].facts["limits"]["temperature"][bound]
    case = dataclasses.replace(case, options={**case.options, "temperature": temperature})
    student, teacher = both(case, torch.float32)
    leaves = {name: value.requires_grad_() for name, value in student.items() if value.is_floating_point()}
    loss = case.build(torch.float32)(student, teacher, batch_of(case, PADDED, torch.float32))
    loss.backward()
    assert loss.isfinite()
    assert all(leaf.grad is None or leaf.grad.isfinite().all() for leaf in leaves.values())


def test_a_stage_on_a_corpus_reads_no_pooler(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = catalogue.objectives()["soft-labels"]
    pooled = dataclasses.replace(entry, facts={**entry.facts, "activations": ("pooled",)})
    monkeypatch.setitem(catalogue.objectives(), "soft-labels", pooled)
    stage = {"terms": [{"objective": "soft-labels"}]}
    assert Stage.model_validate({"data": "task", **stage})
    with pytest.raises(ValidationError, match="'soft-labels' reads the pooler, which models have on a task alone"):
        Stage.model_validate({"data": "sentences", **stage})
