"""The memory model against the meter: the papers' largest steps, and a step with each objective."""

from __future__ import annotations

import pytest
from retort.cost import losses
from retort.cost.memory import Step
from retort.cost.training_work import TrainingCost
from retort.cost.volume import Rows
from retort.cost.work import Head
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.specs.student import ModelSize, Requirements

from tests.job_settings import schedule
from tests.references.meter import MASKED, kept_of_teacher, peak

BASE = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)
LARGE = Architecture(layers=24, heads=16, hidden=1024, intermediate=4096)
SIX = BASE.model_copy(update={"layers": 6})
SMALL = Architecture(layers=2, heads=12, hidden=384, intermediate=1536)
NARROW = Architecture(layers=12, heads=16, hidden=384, intermediate=1536, embedding=128)
ENGLISH, MULTILINGUAL = 30522, 250002  # tokens of the vocabularies of BERT and XLM-R


def term(objective: str, *pairs: tuple[int, int], **options: object) -> TermSettings:
    """Return the settings of a term with the options of its objective."""
    settings = {"objective": objective, "version": 1, "pairs": pairs, "weight": 1.0}
    return TermSettings.model_validate(
        {**settings, "options": {**catalogue.objectives()[objective].options, **options}}
    )


def step_of(
    terms: list[TermSettings], models: tuple[Architecture, Architecture], rows: int, length: int, vocabulary: int,
    outputs: float,
) -> Step:  # fmt: skip
    """Return the predicted memory of a step in bfloat16."""
    head = Head(lambda _: 0.0, outputs)
    sizes = schedule(batch_size=rows), Rows(rows, length), length
    return TrainingCost(terms, *sizes, lambda _: head, "bfloat16", vocabulary, *models).step


SEVENTEEN = [(1 + number // 3, 1 + number * 11 // 16) for number in range(17)]
# (student, teacher), terms, rows, tokens of a row, tokens of the vocabulary
STEPS = {
    "udagawa2023, hidden states": ((SIX, BASE), [term("hidden-sequence", (6, 12))], 960, 256, ENGLISH),
    "udagawa2023, relations": ((SIX, BASE), [term("relations", (6, 12))], 960, 256, ENGLISH),
    "udagawa2023, outputs": ((SIX, BASE), [term("soft-labels")], 960, 256, ENGLISH),
    "udagawa2023, outputs of XLM-R": ((SIX, BASE), [term("soft-labels")], 64, 256, MULTILINGUAL),
    "udagawa2023, 17 pairs": ((SIX, BASE), [term("hidden-sequence", *SEVENTEEN)], 960, 256, ENGLISH),
    "minilmv2, BERT large": ((SIX, LARGE), [term("relations", (6, 21), heads=64)], 256, 512, ENGLISH),
    "minilmv2, attention": (
        (NARROW, LARGE), [term("attention-kl", (12, 24)), term("value-relation", (12, 24))], 256, 512, ENGLISH,
    ),
    "wang2023, attention": ((SIX, BASE), [term("attention-kl", (6, 12))], 1024, 128, ENGLISH),
    "wang2023, outputs and words": ((SIX, BASE), [term("soft-labels"), term("masked-lm")], 1024, 128, ENGLISH),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.slow
def test_the_papers_largest_steps(name: str) -> None:
    sizes, terms, rows, length, vocabulary = STEPS[name]
    head = "masked-lm" if any("logits" in catalogue.objectives()[t.objective].activations for t in terms) else "none"
    setting = schedule(batch_size=rows)
    metered = peak(terms, setting, sizes, vocabulary, rows, length, head, vocabulary if head != "none" else 1)
    logits = MASKED * length * vocabulary
    predicted = step_of(terms, sizes, rows, length, vocabulary, logits).bytes(rows)
    assert predicted == pytest.approx(metered, rel=0.1)


# an objective that waits for the device cannot be computed on tensors without values
METERED = [name for name, entry in catalogue.objectives().items() if not entry.facts.get("synchronises")]


@pytest.mark.parametrize("name", METERED)
@pytest.mark.slow
def test_a_step_with_each_objective(name: str) -> None:
    """The models are shallow, so that the loss has a large part in the peak."""
    entry, rows, length = catalogue.objectives()[name], 128, 128
    pairs = [] if entry.level in ("input", "output") else [(1, 2), (2, 4)]
    terms = [term(name, *pairs)]
    teacher = BASE.model_copy(update={"layers": 4})
    shapes = [ModelSize(size.hidden, size.heads) for size in (SMALL, teacher)]
    wide = any(Requirements.of(entry.facts).unmet(entry.options, *shapes))
    student = (BASE if wide else SMALL).model_copy(update={"layers": 2})
    head = {"masked-lm": "masked-lm"}.get(name, "classification")
    outputs = {"masked-lm": ENGLISH}.get(name, 2)
    setting = schedule(batch_size=rows)
    metered = peak(terms, setting, (student, teacher), ENGLISH, rows, length, head, outputs)
    logits = MASKED * length * ENGLISH if name == "masked-lm" else 2
    step = step_of(terms, (student, teacher), rows, length, ENGLISH, logits)
    assert 0.85 < step.bytes(rows) / metered < 1.35  # rather too much than too little


TINY = Architecture(layers=4, heads=4, hidden=64, intermediate=128)
SHARED = {
    "vectors": [term("relations", (4, 3), heads=8), term("value-relation", (4, 4)), term("value-relation", (2, 3))],
    "scores": [term("attention-kl", (4, 4)), term("attention-mse", (4, 2)), term("attention-mse", (2, 2))],
    "hidden states": [term("hidden-sequence", (4, 2)), term("hidden-cls", (4, 2)), term("embedding-mse")],
    "outputs": [term("soft-labels"), term("masked-lm"), term("context-sequence", (4, 4))],
}


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("name", SHARED)
def test_what_students_share_of_a_teacher(name: str, parts: int) -> None:
    rows, length, vocabulary = 16, 40, 500
    metered = kept_of_teacher(SHARED[name], TINY, vocabulary, rows, length, parts)
    row = losses.kept_of_teacher(SHARED[name], TINY, length, MASKED * length * vocabulary, "bfloat16")
    assert rows * row == pytest.approx(metered)
