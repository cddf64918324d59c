"""Tests of steps with real encoders: batches are computed in parts, and nothing waits for a value."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.batch import Batch, Shape
from retort.errors import Diverged
from retort.models.recorder import Recorder
from retort.training import optim
from retort.training import training_run as reporting
from retort.training.checkpoint import Checkpoint
from retort.training.how.micro_batches import Division, TrainingLoss
from retort.training.loop import take_step
from retort.training.training_run import TrainingRun
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import Dataset
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

from tests.job_settings import schedule
from tests.references.examples import compose
from tests.unit.training.runs import same, state_of, train, training_of

STEPS, ROWS, LENGTH, VOCABULARY = 4, 5, 9, 37
MIXED = [  # means over tokens, over pairs of tokens and over examples
    {"objective": "relations", "mapping": "last", "options": {"heads": 2}},
    {"objective": "attention-mse", "mapping": "last", "weight": 0.5},
    {"objective": "soft-labels"},
]
JOINT = [{"objective": "contrast", "mapping": {"emd": {}}, "options": {"size": 4, "negatives": 3, "bank": 11}}]
SHORT = [{"objective": "hidden-cls", "mapping": {"single": {"layer": 1}}}]  # stops below the student's last layer
NAMES = ["mixed", "short", "masked"]
MASKED = [
    {"objective": "masked-lm"},
    {"objective": "soft-labels"},
    {"objective": "hidden-sequence", "mapping": "last"},
]


class Texts(Dataset[Batch]):
    """Random batches of texts with a label each, or with the masked tokens of few rows; a function of their number."""

    def __init__(self, masked: bool) -> None:
        self.masked = masked

    def __getitem__(self, number: int) -> Batch:
        draw = torch.Generator().manual_seed(number)
        mask = torch.arange(LENGTH) < torch.randint(2, LENGTH + 1, (ROWS, 1), generator=draw)
        ids = torch.randint(1, VOCABULARY, (ROWS, LENGTH), generator=draw) * mask
        labels, positions = torch.randint(3, (ROWS,), generator=draw), None
        if self.masked:
            positions = torch.tensor([0, 1, LENGTH * 3, LENGTH * 3 + 1])
            labels = torch.randint(VOCABULARY, (4,), generator=draw)
        return Batch(ids, ids * 0, mask, labels, torch.arange(ROWS) + number, positions)


def network(layers: int, width: int, masked: bool, dropout: float) -> nn.Module:
    """Return an encoder with random weights in float64; the same for the same arguments."""
    torch.manual_seed(width)
    config = BertConfig(
        vocab_size=VOCABULARY, num_hidden_layers=layers, num_attention_heads=2, hidden_size=width,
        intermediate_size=2 * width, num_labels=3, hidden_dropout_prob=dropout,  # type: ignore[call-arg]
        attention_probs_dropout_prob=dropout,
    )  # fmt: skip
    return (BertForMaskedLM if masked else BertForSequenceClassification)(config).double()


def distillation(terms: list[dict[str, Any]], masked: bool = False, dropout: float = 0.0) -> TrainingRun:
    """Return a distillation of few steps from a fixed start."""
    student, teacher = network(2, 8, masked, dropout), network(3, 12, masked, 0.0).eval()
    labels = VOCABULARY if masked else 3
    torch.manual_seed(5)
    loss = compose(terms, Shape(8, 2, 16, labels), Shape(12, 2, 24, labels), 2, 3).double()
    recorders = [Recorder(student, loss.reads("student")), Recorder(teacher, loss.reads("teacher"))]
    return TrainingRun(
        modules=[student, loss],
        schedule=schedule(steps=STEPS, batch_size=ROWS, max_grad_norm=1.0, learning_rate=0.01),
        steps=STEPS,
        batches=Texts(masked),
        loss=TrainingLoss(loss, *recorders),
    )


def trained(
    run: TrainingRun, folder: Path, micro_batch: int | None = None, every: float = 1e9
) -> dict[str, torch.Tensor]:
    """Train a run with batches in parts, and return weights and buffers."""
    train(run, Checkpoint(folder, {}, every), Division(micro_batch))
    return state_of(run)


def assert_close(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    for name, x in one.items():
        torch.testing.assert_close(other[name], x, rtol=1e-6, atol=1e-8, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("micro_batch", [1, 2])
@pytest.mark.parametrize(("terms", "masked"), [(MIXED, False), (SHORT, False), (MASKED, True)], ids=NAMES)
def test_parts_train_the_weights_of_the_whole_batch(
    terms: list[dict[str, Any]], masked: bool, micro_batch: int, tmp_path: Path
) -> None:
    whole = trained(distillation(terms, masked), tmp_path / "whole")
    assert_close(whole, trained(distillation(terms, masked), tmp_path / "parts", micro_batch))


def test_with_dropout_a_resumed_run_has_the_bytes_of_an_unbroken_one(tmp_path: Path) -> None:
    whole = trained(distillation(MIXED, dropout=0.3), tmp_path / "whole", 2)
    cut = distillation(MIXED, dropout=0.3)
    cut.batches = [*map(Texts(False).__getitem__, range(2))]  # type: ignore[assignment]
    with pytest.raises(IndexError):
        trained(cut, tmp_path / "cut", 2, every=0.0)
    again = trained(distillation(MIXED, dropout=0.3), tmp_path / "cut", 2)
    assert all(torch.equal(x, again[name]) for name, x in whole.items())


def test_processes_share_a_batch_and_one_without_rows_counts_for_nothing() -> None:
    batch = Texts(True)[3]
    assert [len(part.input_ids) for part in Division(2).divide(batch).parts] == [1, 2, 2]
    shares = [Division(None, rank, 7).divide(batch) for rank in range(7)]
    assert [share.counts for share in shares] == [0, 1, 1, 0, 1, 1, 1]
    kept = [share for share in shares if share.counts]
    assert torch.equal(torch.cat([share.parts[0].input_ids for share in kept]), batch.input_ids)
    assert torch.equal(torch.cat([share.parts[0].labels for share in kept]), batch.labels)
    places = [share.parts[0].positions + row * LENGTH for row, share in enumerate(kept)]
    assert torch.equal(torch.cat(places), batch.positions)


# a step queues its work and waits for no value of it

# Operations whose result's value or size the host needs: on a GPU it waits for all operations before them.
WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "_unique2", "unique_dim", "item")


class Waits(TorchDispatchMode):
    """Counts the operations of a block that would wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function._schema.name.removeprefix("aten::")
        by_mask = name in ("index", "index_put_") and any(x is not None and x.dtype == torch.bool for x in args[1])
        if name in WAITING or by_mask:
            self.counted[name] += 1
        return function(*args, **(kwargs or {}))


STEPS_OF = [
    pytest.param(terms, masked, division, id=f"{name}-{division.micro_batch}")
    for name, terms, masked in (("mixed", MIXED, False), ("short", SHORT, False), ("masked", MASKED, True))
    for division in (Division(), Division(2))
]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("terms", "masked", "division"), [*STEPS_OF, pytest.param([*MIXED, *JOINT], False, Division(), id="joint")]
)
def test_a_step_waits_for_nothing(
    terms: list[dict[str, Any]], masked: bool, division: Division, precision: str, tmp_path: Path
) -> None:
    run = distillation(terms, masked)
    if precision == "bfloat16":
        [module.float() for module in run.modules]
        run.loss.teacher.model.float()  # type: ignore[attr-defined]
    training = training_of(run, Checkpoint(tmp_path, {}, 1e9), division, precision=precision)
    prepared = [division.divide(run.batches[number]).to("cpu") for number in range(3)]
    take_step(training, prepared[0])
    with Waits() as waits:
        take_step(training, prepared[1])
        take_step(training, prepared[2])
    assert waits.counted == {}
    training.step = 10
    with Waits() as waits:
        training.report(100, None)
    assert waits.counted["_local_scalar_dense"] <= 2  # for a divergence, and `tolist` copies all values at once
    assert float(training.loss) == pytest.approx(float(sum(training.terms.values())))


@pytest.mark.parametrize("logged", [1, 10])
def test_a_divergence_is_told_with_its_step_and_touches_no_weight(
    logged: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "LOGGED", logged)
    monkeypatch.setattr(optim, "rate", lambda step, steps, schedule: 0.01)  # of a shorter run too
    before, run = distillation(SHORT), distillation(SHORT)
    before.steps, run.steps_before = 1, 100
    loss, seen = run.loss, itertools.count(1)

    def infinite_at_two(batch: Any) -> Any:
        value, values = loss(batch)
        return value / (next(seen) != 2), values

    run.loss = infinite_at_two
    train(before, Checkpoint(tmp_path / "before", {}, 0.0))
    with pytest.raises(Diverged) as caught:
        train(run, Checkpoint(tmp_path / "run", {}, 0.0))
    assert caught.value.step == 102
    written = Checkpoint(tmp_path / "run", {}, 0.0).state
    assert written is not None
    assert written.step == 1  # no state after the divergence
    assert same(before, run)


def test_tf32_is_for_the_products_of_a_step_alone(tmp_path: Path) -> None:
    run, seen = distillation(SHORT), []
    loss = run.loss

    def asks(batch: Any) -> Any:
        seen.append(torch.backends.cuda.matmul.fp32_precision)
        return loss(batch)

    run.loss = asks
    before = torch.backends.cuda.matmul.fp32_precision
    for precision in ("tf32", "float32"):
        take_step(
            training_of(run, Checkpoint(tmp_path, {}, 1e9), precision=precision), Division().divide(Texts(False)[0])
        )
    assert seen == ["tf32", "ieee"]
    assert torch.backends.cuda.matmul.fp32_precision == before
