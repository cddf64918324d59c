"""Tests of the loss in a loop of one's own: the value of a stage's step, and the lines of a file's mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import retort
import torch
import transformers
from retort.batch import Batch, Shape
from retort.errors import RetortError
from retort.job.context import RunningJob
from retort.job.steps import read_steps
from retort.models import build
from retort.settings.trainings import StageSettings, TermSettings
from retort.specs.model import Architecture
from retort.specs.student import Term
from retort.training.distillation import StudentInTraining, TeacherAndData, online_teacher, run_stages
from retort.training.setup import checkpoint_of

from tests.conftest import ROOT
from tests.job_settings import distillation_settings, schedule

pytestmark = pytest.mark.usefixtures("folder")
LAYERS = {"student": 2, "teacher": 4}
AUTO = {
    "classification": "AutoModelForSequenceClassification",
    "masked-lm": "AutoModelForMaskedLM",
    "span": "AutoModelForQuestionAnswering",
}
INPUT_IDS = torch.tensor([[2, 9, 12, 7, 3], [2, 30, 3, 0, 0]])
MASK = INPUT_IDS.ne(0)
FIELDS: dict[str, dict[str, torch.Tensor]] = {  # what transformers' collators give next to the inputs
    "classification": {"labels": torch.tensor([1, 2])},
    "masked-lm": {"labels": torch.tensor([[-100, 9, -100, 7, -100], [-100, 31, -100, -100, -100]])},
    "span": {"start_positions": torch.tensor([1, 0]), "end_positions": torch.tensor([3, 0])},
}
# what batches of the workflow hold of the same
OWN: dict[str, dict[str, torch.Tensor]] = {
    "classification": FIELDS["classification"],
    "masked-lm": {"labels": torch.tensor([9, 7, 31]), "positions": torch.tensor([1, 3, 6])},
    "span": {"labels": torch.tensor([[1, 3], [0, 0]])},
}
Save = Callable[[str], dict[str, Path]]


@pytest.fixture
def save(encoder: Path, tmp_path: Path) -> Save:
    """Return a function that saves a teacher and a student with a head, and returns their folders."""

    def save(head: str) -> dict[str, Path]:
        for number, (side, layers) in enumerate(LAYERS.items()):
            torch.manual_seed(number)
            sizes = {"num_hidden_layers": layers, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
            config = transformers.AutoConfig.from_pretrained(encoder, num_labels=2 if head == "span" else 3, **sizes)
            getattr(transformers, AUTO[head]).from_config(config).save_pretrained(tmp_path / side)
        return {side: tmp_path / side for side in LAYERS}

    return save


def step_of_a_stage(head: str, terms: list[dict[str, Any]], folders: dict[str, Path]) -> dict[str, Any]:
    """Return the line of the first step of a stage, as the workflow trains it."""
    outputs = {"masked-lm": 90, "span": 2}.get(head, 3)
    batch = Batch(INPUT_IDS, torch.zeros_like(INPUT_IDS), MASK, **OWN[head], rows=torch.tensor([3, 1]))
    own = [TermSettings.of(Term.model_validate(term), *LAYERS.values(), [2, 4]) for term in terms]
    stage = StageSettings(data="task", terms=own, schedule=schedule(steps=1), teacher_dropout=False)
    settings = distillation_settings(Architecture(layers=2, heads=3, hidden=24, intermediate=48))
    settings = settings.model_copy(update={"stages": [stage]})
    with Path("job.log").open("w") as log:
        job = RunningJob("job", log)
        network = build.load(folders["student"], head, outputs)
        student = StudentInTraining(job, network, settings, 1, outputs, checkpoint_of(job, settings, 1))
        teacher = online_teacher(folders["teacher"], head, outputs, "cpu", "float32")
        shape = Shape(24, 3, 48, outputs)
        run_stages([student], TeacherAndData(shape, teacher, lambda _: 9, lambda *_: [batch]))
    return dict(read_steps(Path("job.steps.jsonl"))[0])


def models(head: str, folders: dict[str, Path]) -> dict[str, Any]:
    """Return the two models as anybody loads them, with attention whose masks have another form."""
    auto = getattr(transformers, AUTO[head])
    return {side: auto.from_pretrained(folder, attn_implementation="eager") for side, folder in folders.items()}


KINDS: list[tuple[str, list[dict[str, Any]]]] = [
    ("classification", [{"objective": "supervised"}, {"objective": "soft-labels", "options": {"temperature": 2.0}}]),
    ("classification", [{"objective": "relations", "mapping": "last", "weight": 0.5, "options": {"heads": 6}}]),
    ("classification", [{"objective": "hidden-sequence", "mapping": "initial", "options": {"map": "always"}}]),
    ("classification", [{"objective": "contrast", "mapping": {"single": {"layer": 3}}, "options": {"bank": 9}}]),
    ("masked-lm", [{"objective": "masked-lm"}, {"objective": "soft-labels"}]),
    ("span", [{"objective": "supervised"}, {"objective": "attention-kl", "mapping": "uniform"}]),
]


@pytest.mark.parametrize(("head", "terms"), KINDS, ids=str)
def test_the_value_is_that_of_a_step_of_the_workflow(head: str, terms: list[dict[str, Any]], save: Save) -> None:
    folders = save(head)
    step = step_of_a_stage(head, terms, folders)
    torch.manual_seed(1 * 1000 + 500 + 1)  # of a stage's objectives
    loss = retort.loss(terms, **models(head, folders), initial_layers=[2, 4])
    inputs = {"input_ids": INPUT_IDS, "attention_mask": MASK.long(), "rows": torch.tensor([3, 1]), **FIELDS[head]}
    value, values = loss(inputs)
    assert float(f"{value.item():.6g}") == step["loss"]
    assert {label: float(f"{each.item():.6g}") for label, each in values.items()} == step["terms"]


def test_the_student_and_the_maps_learn_and_the_teacher_does_not(save: Save) -> None:
    both = models("classification", save("classification"))
    both["teacher"].train()
    loss = retort.loss([KINDS[2][1][0] | {"mapping": "uniform"}], **both)
    assert not both["teacher"].training
    value, _ = loss({"input_ids": INPUT_IDS})
    value.backward()
    maps = list(loss.parameters())
    assert [each.shape for each in maps if each.grad is not None] == [(24, 24), (24, 24)]
    assert len(maps) == 2
    assert both["student"].base_model.embeddings.word_embeddings.weight.grad is not None
    assert all(each.grad is None for each in both["teacher"].parameters())


def test_rows_are_contrasted_by_their_labels(save: Save) -> None:
    term, both = {"objective": "noise-contrast", "mapping": "last"}, models("classification", save("classification"))
    with pytest.raises(RetortError, match="rows of other classes"):
        retort.loss([term], **both)
    loss = retort.loss([term], **both, train_labels=[0, 1, 2, 0])
    assert loss({"input_ids": INPUT_IDS, "rows": torch.tensor([3, 1])})[0] > 0


HIDDEN = {"objective": "hidden-sequence", "mapping": "last"}
MISTAKES: list[tuple[list[dict[str, Any]], dict[str, Any], str]] = [
    ([HIDDEN | {"wieght": 2.0}], {}, "terms.1.wieght: no key is called 'wieght'; did you mean 'weight'?"),
    ([HIDDEN, HIDDEN], {}, "terms.2: the same term stands above"),
    ([{"objective": "masked-lm"}], {}, "terms.1: 'masked-lm' reads the masked tokens of a corpus"),
    ([HIDDEN | {"mapping": {"single": {"layer": 7}}}], {}, "terms.1.mapping: teacher has no layer 7; its layers go"),
    ([HIDDEN | {"mapping": "initial"}], {}, "terms.1.mapping: mapping 'initial' is for students that start"),
    ([HIDDEN | {"options": {"map": "never"}}], {"hidden_size": 12}, "terms.1.options.map: objective 'hidden-sequence'"),
    ([HIDDEN], {"vocab_size": 91}, "the student reads 91 tokens and its teacher 90; both must read the same input ids"),
]


@pytest.mark.parametrize(("terms", "sizes", "line"), MISTAKES, ids=[line for _, _, line in MISTAKES])
def test_a_mistake_gets_the_line_of_a_file(
    terms: list[dict[str, Any]], sizes: dict[str, int], line: str, encoder: Path
) -> None:
    teacher = transformers.AutoModelForSequenceClassification.from_pretrained(encoder)
    config = transformers.AutoConfig.from_pretrained(encoder, **sizes)
    student = transformers.AutoModelForSequenceClassification.from_config(config)
    with pytest.raises(RetortError) as refused:
        retort.loss(terms, teacher=teacher, student=student)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_models_that_cannot_be_compared(encoder: Path) -> None:
    bare = transformers.AutoModel.from_pretrained(encoder)
    albert = transformers.AlbertModel(transformers.AlbertConfig(hidden_size=12, num_attention_heads=2))
    for student, term, line in (
        (torch.nn.Sequential(bare), HIDDEN, "the student is a Sequential, not a model of transformers; give the model"),
        (albert, HIDDEN, "no family of encoders is called 'albert'; there are"),
        (bare, {"objective": "soft-labels"}, "the loss reads the logits of the teacher, and a BertModel has no head"),
    ):
        with pytest.raises(RetortError) as refused:
            retort.loss([term], teacher=bare, student=student)
        assert str(refused.value).startswith(line)


def test_the_guide_runs(save: Save) -> None:
    save("classification")
    guide = (ROOT / "workflow/retort/objectives/own-loop.md").read_text()
    inputs = {"input_ids": INPUT_IDS, "attention_mask": MASK.long(), **FIELDS["classification"]}
    names: dict[str, Any] = {"batches": [inputs] * 3}
    exec(guide.partition("```python\n")[2].partition("```")[0], names)
    assert set(names["terms"]) == {"supervised", "soft-labels", "hidden-sequence"}
    assert names["value"].item() == pytest.approx(sum(each.item() for each in names["terms"].values()), rel=1e-6)
