"""The settings of jobs that train, run or measure a model; they contain those of what the jobs read."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict

from retort.settings.inputs import CorpusSettings, JobSettings, ModelSettings, TaskSettings
from retort.specs import catalogue
from retort.specs.base import Options, left_out
from retort.specs.base import Settings as Changes
from retort.specs.model import Architecture
from retort.specs.protocol import STAGES, Schedule, SearchGrid
from retort.specs.reported import Timing
from retort.specs.student import Term


class InitialisationSettings(JobSettings):
    """Where the initial weights of a student come from.

    Args:
        layers: the layers, counted from 1, that are copied; None if none are.
        of: the model whose layers are copied: the teacher, or the released model behind it.
        student: the student that this one starts from; None if it starts from none.
        checkpoint: the released model that it starts from; None if it starts from none.
        random: whether the weights are drawn at random.
        new_heads: whether pooler and heads are drawn at random where layers are copied.
    """

    layers: list[int] | None
    of: Literal["teacher", "model"]
    student: str | None
    checkpoint: str | None = left_out()
    random: bool
    new_heads: bool = left_out(False)


class TermSettings(JobSettings):
    """One term of a loss.

    Args:
        objective: the registered name of the objective.
        version: the version of the objective.
        pairs: the (student layer, teacher layer) pairs; empty for an objective without layers.
        weight: the factor of the sum over the pairs.
        options: the options of the objective, defaults included.
    """

    objective: str
    version: int
    pairs: list[tuple[int, int]]
    weight: float
    options: Options

    @classmethod
    def of(cls, term: Term, *layers: Any) -> TermSettings:
        """Return the settings of a term of a file for models with these layers, see `Term.layer_pairs`."""
        entry = catalogue.objectives()[term.objective]
        return cls(
            objective=term.objective,
            version=entry.version,
            pairs=term.layer_pairs(*layers),
            weight=term.weight,
            options={**entry.options, **term.options},
        )


class StageSettings(JobSettings):
    """One stage of a student: its data ('task' or the name of a corpus), its loss terms and its schedule.

    `metric_for_best_model` is the metric, on the validation split, by which the weights of the best epoch are chosen;
    None where those of the last step are taken.
    """

    data: str
    terms: list[TermSettings]
    schedule: Schedule
    teacher_dropout: bool
    metric_for_best_model: str | None = left_out()


class PointSettings(JobSettings):
    """A point of a grid: the values of its axes, by key; none where there is no grid."""

    model_config = ConfigDict(extra="allow")

    @property
    def of_schedule(self) -> Changes:
        """The fields of the schedule that it changes."""
        return {key: value for key, value in self if not key.startswith(STAGES)}

    def applied_to(self, schedule: Schedule) -> Schedule:
        """Return the schedule with the values of this point."""
        changes = self.of_schedule
        return schedule.changed(changes) if changes else schedule


def points_of(grid: SearchGrid | None) -> list[PointSettings]:
    """Return the points of a grid, in order; one that changes nothing where there is no grid."""
    return [PointSettings(**point) for point in grid.points()] if grid else [PointSettings()]


class SearchSettings(JobSettings):
    """A grid over which a teacher or a task-specific student is tuned on its task.

    Args:
        points: the points of the grid, in order.
        stages: the stages of the student at each point; empty for a teacher.
        seed: the seed of every point.
        metric_for_best_model: the metric, on the validation split, by which the best point is chosen.
        version: that of the code.
    """

    points: list[PointSettings]
    stages: list[list[StageSettings]] = left_out([])
    seed: int
    metric_for_best_model: str
    version: int


class TeacherSettings(JobSettings):
    """A teacher that is fine-tuned on a task; `versions` are those of the code, the teacher and its protocol.

    `metric_for_best_model` is the metric, on the validation split, by which the weights of the best epoch are chosen;
    None where those of the last step are taken. `grid` is None where the schedule is taken as it is.
    """

    model: ModelSettings
    task: TaskSettings
    schedule: Schedule
    seed: int
    precision: str
    versions: list[int]
    metric_for_best_model: str | None = left_out()
    grid: SearchSettings | None = left_out()

    def at(self, point: PointSettings) -> TeacherSettings:
        """Return the settings of the teacher at a point of its grid."""
        if self.grid is None:
            return self
        schedule = point.applied_to(self.schedule)
        best = self.grid.metric_for_best_model if schedule.load_best_model_at_end else None
        return self.model_copy(update={"schedule": schedule, "metric_for_best_model": best})


class TeacherHeadSettings(JobSettings):
    """A teacher that gets a masked-LM head on a corpus; `versions` are those of the code, the teacher, its protocol."""

    model: ModelSettings
    corpus: CorpusSettings
    schedule: Schedule
    seed: int
    precision: str
    versions: list[int]


class ReleasedTeacherSettings(JobSettings):
    """A teacher as released.

    Args:
        model: its model.
        head: set if a student reads its output through the released masked-LM head.
        task: of a task-specific student, which reads nothing of its teacher but the vocabulary; None on a corpus.
    """

    model: ModelSettings
    head: Literal["published"] | None = left_out()
    task: TaskSettings | None = left_out()


class DistillationSettings(JobSettings):
    """The settings that task-specific and task-agnostic distillation have in common.

    Args:
        architecture: the student's sizes.
        initialisation: where its initial weights come from.
        stages: its stages, in order.
        precision: 'bfloat16', 'tf32' or 'float32'.
        versions: the versions of the code, the student and its protocol.
        parent: the student or released model that it starts from; None if it starts from none.
        pooler_relu: whether a ReLU stands between pooler and classifier of both models.
    """

    architecture: Architecture
    initialisation: InitialisationSettings
    stages: list[StageSettings]
    precision: str
    versions: list[int]
    parent: CorpusDistillationSettings | ModelSettings | None = left_out()
    pooler_relu: bool = left_out(False)


class TaskDistillationSettings(DistillationSettings):
    """Task-specific distillation: a student distilled and scored on a task, tuned over its grid if it has one."""

    teacher: TeacherSettings | ReleasedTeacherSettings
    grid: SearchSettings | None = left_out()

    def at(self, point: PointSettings) -> TaskDistillationSettings:
        """Return the settings of the student at a point of its grid."""
        if self.grid is None:
            return self
        return self.model_copy(update={"stages": self.grid.stages[self.grid.points.index(point)]})

    @property
    def task(self) -> TaskSettings:
        """The task, which is also the teacher's."""
        assert self.teacher.task is not None  # the task of a task-specific student stands there
        return self.teacher.task


class CorpusDistillationSettings(DistillationSettings):
    """Task-agnostic distillation: a student distilled on corpora, once for all its seeds."""

    seed: int
    corpora: dict[str, CorpusSettings]
    teacher: TeacherHeadSettings | ReleasedTeacherSettings


class GridSettings(JobSettings):
    """A grid search of a task-agnostic student on a task, or its fine-tuning at the best point of the grid.

    Args:
        student: the distillation of the student.
        task: the task.
        schedule: the schedule that each point changes.
        points: the points of the grid, in order; one point without changes where there is no grid.
        seed: the seed of every point.
        metric_for_best_model: the metric, on the validation split, by which the best point is chosen, and its best
            epoch if the schedule asks for it.
        precision: 'bfloat16', 'tf32' or 'float32'.
        versions: those of the code and the protocol.
        stage: the version of the fine-tuning's code; None for the search.
    """

    student: CorpusDistillationSettings
    task: TaskSettings
    schedule: Schedule
    points: list[PointSettings]
    seed: int
    metric_for_best_model: str
    precision: str
    versions: list[int]
    stage: int | None = left_out()


ScoreSettings = TeacherSettings | TaskDistillationSettings | GridSettings  # what a score file holds


class PredictionSettings(JobSettings):
    """The predictions of a fine-tuned model on a task's test sets."""

    task: TaskSettings
    precision: str
    stage: int


class SubmittedTask(JobSettings):
    """The files of one task in a submission.

    Args:
        files: encoded split -> name of the file in the zip.
        label_names: the label names as the server spells them; empty for a regression.
        bounds: the least and the greatest number that the server takes; None without bounds.
    """

    files: dict[str, str]
    label_names: list[str]
    bounds: tuple[float, float] | None


class SubmissionSettings(JobSettings):
    """A zip for the GLUE server: the tasks by name, and the names of all files that the server takes."""

    tasks: dict[str, SubmittedTask]
    server_files: list[str]


class ProfileSettings(JobSettings):
    """The profile of a model: its architecture, and how its latency is measured.

    Args:
        architecture: the sizes of the model.
        vocabulary: the number of tokens in the vocabulary.
        batch: rows per pass.
        length: tokens per row.
        further: further measurements; None where no table asks for one.
        runs: the number of runs, each of which gives one value.
        passes: forward passes per run.
        threads: CPU threads.
        stage: the version of the code.
    """

    architecture: Architecture
    vocabulary: int
    batch: int
    length: int
    further: list[Timing] | None = left_out()
    runs: int
    passes: int
    threads: int
    stage: int
