"""The specs of a scale: whose students run, and how much smaller they are than as reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, field_validator

from retort.specs.base import (
    CorpusName,
    Distinct,
    Flag,
    Label,
    ModelName,
    Name,
    PaperName,
    Real,
    Seed,
    Spec,
    TaskName,
    Whole,
    left_out,
)
from retort.specs.protocol import Schedule, ScheduleChanges, SearchGrid


class Replacements(Spec):
    """A scaled study: replacements for what the papers report, so that every type of table runs on one machine.

    Args:
        model: instead of every teacher's; architectures and layers shrink in proportion.
        corpus: instead of every corpus.
        distillation: fields of the schedule of stages on a corpus; a stage whose reported learning rate or length
            differs from its protocol's keeps the proportion.
        training: fields of the schedules of stages on a task and of fine-tuning.
        finetuning: fields of `training` that differ for students without a stage on a task.
        teaching: fields of the schedules by which teachers are fine-tuned.
        training_of: paper -> fields of `training` that differ in the stages of its students.
        training_on: task -> fields of `training` that differ.
        grid: instead of every protocol's.
        seeds: of every student, counted from 1, also where a paper has one run.
        distillations: of every student on a corpus, under seeds counted from 1.
        tasks: no other task is run.
        tasks_of: paper -> its tasks, instead of `tasks`.
    """

    model: ModelName
    corpus: CorpusName
    distillation: ScheduleChanges
    training: ScheduleChanges
    finetuning: ScheduleChanges = {}
    teaching: ScheduleChanges
    training_of: dict[PaperName, ScheduleChanges] = {}
    training_on: dict[TaskName, ScheduleChanges] = {}
    grid: SearchGrid
    seeds: Whole = Field(ge=1)
    distillations: Whole = left_out(1, ge=1)
    tasks: Distinct[TaskName] = Field(min_length=1)
    tasks_of: dict[PaperName, Distinct[TaskName]] = {}

    @field_validator("distillation", "training", "teaching")
    @classmethod
    def _schedule(cls, fields: dict[str, object]) -> dict[str, object]:
        Schedule.model_validate(fields)
        return fields

    def _wrong(self) -> Iterator[str]:
        """Check that stages set every field that fine-tuning sets, so that they never inherit its values."""
        for name in ("training", "distillation"):
            if missing := sorted(set(self.finetuning) - set(getattr(self, name))):
                yield f"{name}: {missing[0]} is missing, which finetuning sets"

    def tasks_for(self, paper: str) -> list[str]:
        """Return the tasks that are run for the students and teachers of a paper."""
        return self.tasks_of.get(paper, self.tasks)

    def read_by(self, paper: str) -> Replacements:
        """Return the replacements of a paper: without those for other papers, or for tasks that it does not run."""
        tasks = self.tasks_for(paper)
        own = {name: changes for name, changes in self.training_of.items() if name == paper}
        on_tasks = {task: changes for task, changes in self.training_on.items() if task in tasks}
        changed = {"training_on": on_tasks, "tasks": tasks, "tasks_of": {}, "training_of": own}
        return self.model_copy(update=changed)


class MadeRowCounts(Spec):
    """How many rows the made data sets have.

    Args:
        train: of a training split.
        others: of any other split, or of each subset of it.
    """

    train: Whole = Field(ge=8, le=10_000)
    others: Whole = Field(ge=4, le=10_000)


class Miniature(Spec):
    """A study in miniature: every job of the published papers, with narrow models and few steps, on made data.

    Args:
        seed: of the made texts, labels and weights.
        vocabulary: tokens of every tokenizer.
        shorter: how many times shorter texts and blocks are.
        rows: of the made data sets.
        blocks: of every corpus.
        steps: of every training.
        learning_rate_factor: times the reported learning rates, so that few steps change scores.
        batch_size: of every training.
        points: of every grid, at most.
        seeds: of every student, at most.
        seeds_compared: of students whose rows paired tests compare, at most.
        passes: of a model that is timed, in each run.
        families: family -> its models; all others are of BERT's.
    """

    seed: Seed
    vocabulary: Whole = Field(ge=512, le=50_000)
    shorter: Whole = Field(ge=1, le=16)
    rows: MadeRowCounts
    blocks: Whole = Field(ge=4)
    steps: Whole = Field(ge=1)
    learning_rate_factor: Real = Field(default=1.0, ge=1, le=1000)
    batch_size: Whole = Field(ge=2)
    points: Whole = Field(ge=1)
    seeds: Whole = Field(ge=1)
    seeds_compared: Whole = Field(default=2, ge=2)
    passes: Whole = Field(ge=1)
    families: dict[Literal["roberta", "xlm-roberta", "distilbert"], Distinct[Name]] = {}

    def family(self, model: str) -> str:
        """Return the family of a model, as transformers names it."""
        return next((family for family, models in self.families.items() if model in models), "bert")


class Scale(Spec):
    """A scale: one YAML file of workflow/scales.

    Args:
        title: what it is, in one line.
        papers: studies of ours run at every scale, the papers' own students where it says so.
        replacements: how the papers' students are made smaller; left out: they run as reported.
        miniature: how everything is made as small as it can be; its scores mean nothing.
        longer_than: a scale with the same settings and fewer steps, whose decided claims this one runs again.
        gpus: GPUs that a training asks for; 0: it runs on the CPU.
        judged: scores are held against the reported ones.
        claims: claims are judged on its scores; else these get a mark.
        submissions: tables ask for the zips that GLUE's server takes; else scores on dev stand in for its scores.
        stores_activations: one job stores what all students read of a teacher on a task, until they are trained. This
            saves time on a CPU, but takes gigabytes even for a small teacher. Else the teacher runs next to each
            student.
    """

    title: Label
    papers: Literal["ours", "others"] = "others"
    replacements: Replacements | None = None
    miniature: Miniature | None = None
    longer_than: Name | Literal[""] = ""
    gpus: Whole = Field(default=1, ge=0, le=1)
    judged: Flag = True
    claims: Flag = True
    submissions: Flag = False
    stores_activations: Flag = False

    def _wrong(self) -> Iterator[str]:
        if self.replacements and self.miniature:
            yield "give 'replacements' or 'miniature', one of the two"
