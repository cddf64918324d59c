"""The specs of a scale: whose students run, and how much smaller they are than in print."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from retort.specs.base import Distinct, Flag, Label, Name, Real, Seed, Settings, Spec, Whole
from retort.specs.names import CorpusName, ModelName, PaperName, TaskName
from retort.specs.protocol import Grid, Schedule, ScheduleChanges


class Replacements(Spec):
    """A scaled study: replacements for what the papers print, so that every type of table runs on one machine."""

    model: ModelName = Field(description="instead of every teacher's; architectures and layers shrink in proportion")
    corpus: CorpusName = Field(description="instead of every corpus")
    distillation: ScheduleChanges = Field(
        description="fields of the schedule of stages on a corpus; a stage whose printed learning rate or length "
        "differs from its protocol's keeps the proportion"
    )
    training: ScheduleChanges = Field(description="fields of the schedules of stages on a task and of fine-tuning")
    finetuning: ScheduleChanges = Field(
        default={}, description="fields of `training` that differ for students without a stage on a task"
    )
    teaching: ScheduleChanges = Field(description="fields of the schedules by which teachers are fine-tuned")
    training_of: dict[PaperName, ScheduleChanges] = Field(
        default={}, description="paper -> fields of `training` that differ in the stages of its students"
    )
    training_on: dict[TaskName, ScheduleChanges] = Field(
        default={}, description="task -> fields of `training` that differ"
    )
    teaching_on: dict[TaskName, ScheduleChanges] = Field(
        default={}, description="task -> fields of `teaching` that differ"
    )
    grid: Grid = Field(description="instead of every protocol's")
    seeds: Whole = Field(ge=1, description="of every student, counted from 1, also where a paper has one run")
    tasks: Distinct[TaskName] = Field(min_length=1, description="no other task is run")
    tasks_of: dict[PaperName, Distinct[TaskName]] = Field(
        default={}, description="paper -> its tasks, instead of `tasks`"
    )

    @field_validator("distillation", "training", "teaching")
    @classmethod
    def _schedule(cls, fields: dict[str, Any]) -> dict[str, Any]:
        Schedule.model_validate(fields)
        return fields

    @model_validator(mode="after")
    def _stages_set_what_finetuning_sets(self) -> Replacements:
        """Check that stages set every field that fine-tuning sets, so that they never inherit its values."""
        for name in ("training", "distillation"):
            if missing := sorted(set(self.finetuning) - set(getattr(self, name))):
                raise ValueError(f"{name}: {missing[0]} is missing, which finetuning sets")
        return self

    def tasks_for(self, paper: str) -> list[str]:
        """Return the tasks that are run for the students and teachers of a paper."""
        return self.tasks_of.get(paper, self.tasks)

    def training_for(self, paper: str) -> Settings:
        """Return the fields of the schedules of a paper's stages on a task."""
        return {**self.training, **self.training_of.get(paper, {})}

    def read_by(self, paper: str) -> Replacements:
        """Return the replacements of a paper: without those for other papers, or for tasks that it does not run."""
        tasks = self.tasks_for(paper)
        own = {name: changes for name, changes in self.training_of.items() if name == paper}
        on_tasks = {
            name: {task: changes for task, changes in getattr(self, name).items() if task in tasks}
            for name in ("training_on", "teaching_on")
        }
        return self.model_copy(update={**on_tasks, "tasks": tasks, "tasks_of": {}, "training_of": own})


class MadeRows(Spec):
    """How many rows the made data sets have."""

    train: Whole = Field(ge=8, le=10_000, description="of a training split")
    others: Whole = Field(ge=4, le=10_000, description="of any other split, or of each subset of it")


class Miniature(Spec):
    """A study in miniature: every job of the printed papers, with narrow models and few steps, on made data."""

    seed: Seed = Field(description="of the made texts, labels and weights")
    vocabulary: Whole = Field(ge=512, le=50_000, description="tokens of every tokenizer")
    shorter: Whole = Field(ge=1, le=16, description="how many times shorter texts and blocks are")
    rows: MadeRows = Field(description="of the made data sets")
    blocks: Whole = Field(ge=4, description="of every corpus")
    steps: Whole = Field(ge=1, description="of every training")
    learning_rate_factor: Real = Field(
        default=1.0, ge=1, le=1000, description="times the printed learning rates, so that few steps change scores"
    )
    batch_size: Whole = Field(ge=2, description="of every training")
    points: Whole = Field(ge=1, description="of every grid, at most")
    seeds: Whole = Field(ge=1, description="of every student, at most")
    seeds_compared: Whole = Field(default=2, ge=2, description="of students whose rows paired tests compare, at most")
    passes: Whole = Field(ge=1, description="of a model that is timed, in each run")
    families: dict[Literal["roberta", "xlm-roberta", "distilbert"], Distinct[Name]] = Field(
        default={}, description="family -> its models; all others are of BERT's"
    )

    def family(self, model: str) -> str:
        """Return the family of a model, as transformers names it."""
        return next((family for family, models in self.families.items() if model in models), "bert")


class Scale(Spec):
    """A scale: one YAML file of workflow/scales."""

    title: Label = Field(description="what it is, in one line")
    papers: Literal["ours", "printed"] = Field(
        default="printed", description="studies of ours run at every scale, the papers' own students where it says so"
    )
    replacements: Replacements | None = Field(
        default=None, description="how the papers' students are made smaller; left out: they run as printed"
    )
    miniature: Miniature | None = Field(
        default=None, description="how everything is made as small as it can be; its scores mean nothing"
    )
    longer_than: Name | Literal[""] = Field(
        default="",
        description="a scale with the same settings and fewer steps, whose decided claims this one runs again",
    )
    gpus: Whole = Field(default=1, ge=0, le=1, description="GPUs that a training asks for; 0: it runs on the CPU")
    judged: Flag = Field(default=True, description="scores are held against the printed ones")
    claims: Flag = Field(default=True, description="claims are judged on its scores; else these get a mark")
    submissions: Flag = Field(
        default=False,
        description="tables ask for the zips that GLUE's server takes; else scores on dev stand in for its scores",
    )
    stores_activations: Flag = Field(
        default=False,
        description="what students read of a teacher on a task is stored once and then read by all of them, which "
        "saves time on a CPU but takes gigabytes even for a small teacher; else the teacher runs beside each student",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Scale:
        if self.replacements and self.miniature:
            raise ValueError("give 'replacements' or 'miniature', one of the two")
        return self
