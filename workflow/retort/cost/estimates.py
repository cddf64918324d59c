"""What a job takes, by its rule and its wildcards: work, memory, and whether it runs on a GPU.

A rule that trains or runs a model, or prepares data, has a method here; for others there are guesses. All seeds of a
student take the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from retort.cost import losses, memory, training_work, work
from retort.cost.memory import Step
from retort.cost.speed import Work
from retort.cost.training_work import OnTask, TrainingCost, work_of
from retort.cost.volume import Volume
from retort.plan.plan import Plan
from retort.plan.sharing import students_in
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import GridSettings, PointSettings
from retort.settings.trials import places_of
from retort.specs.model import Architecture

Wildcards = Any
Given = TypeVar("Given")
# the rules that train a student or teacher on a task: the parts of a grid, and the seeds
ON_TASK = {"run_grid_of_teacher", "run_grid", "run_grid_on_task"}
ON_TASK |= {"finetune_teacher", "finetune_student", "distill_on_task"}

SECONDS = {"fetch_source": 120.0, "save_student": 1.0}  # guesses, for rules without a model
BENCH = 600.0  # seconds that `retort bench gpu` takes at most
OTHERS = 1.0  # the same for tables, figures and pages: measured, half a second to five
TOKENIZED_PER_SECOND = 3e5  # tokens that a core encodes in a second, cleaning included
PACKED_PER_SECOND = 5e6  # tokens that a core packs into blocks in a second
BYTES_PER_BLOCK = 24.0  # its place in the order of an epoch, in each process that prepares batches
BYTES_PER_TOKEN = 16.0  # of a task while it is encoded: its text, its id, its type, their lists
READER_BYTES = 2.5e9  # bytes of a process that reads and tokenises texts


@dataclass(frozen=True)
class Estimate:
    """What a job takes.

    Args:
        work: what it computes and moves.
        ram: bytes of memory of the machine.
        runs_model: whether it trains or runs a model, on a GPU where the scale has one.
        step: the memory of its training step; None if it trains nothing.
    """

    work: Work
    ram: float = memory.PROCESS[False]
    runs_model: bool = False
    step: Step | None = None


class Estimates:
    """The estimates of the jobs of a plan: a method for each rule, which takes the wildcards of a job in order.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study, self.settings = plan, plan.study, plan.settings
        self.gpu = plan.config.gpus > 0
        self.workers = plan.config.workers(self.gpu)
        self.volume = Volume(plan.study)
        self.cache: dict[tuple[Any, ...], Any] = {}

    def of(self, rule: str, **wildcards: str) -> Estimate:
        """Return the estimate of a job of a rule."""
        if rule == "distill_students":
            first, *others = students = tuple(students_in(self.plan, wildcards["group"]))
            return self._once(self._together, students) if others else self._once(self.distill_student, first)
        estimate: Callable[..., Estimate] | None = getattr(self, "on_task" if rule in ON_TASK else rule, None)
        if estimate is None:
            return Estimate(Work(seconds=SECONDS.get(rule, OTHERS)))
        seeds = wildcards.pop("seeds", "")
        one = self._once(estimate, *wildcards.values())
        return replace(one, work=one.work.times(1 + seeds.count("-"))) if "-" in seeds else one

    def of_seed(self, student: str, task: str) -> Estimate:
        """Return the estimate of a student on a task under one seed."""
        return self._once(self.on_task, student, task)

    def _once(self, give: Callable[..., Given], *arguments: Any) -> Given:
        """Return what a method of this object gives for some arguments; it is computed once."""
        key = (give.__name__, *arguments)
        if key not in self.cache:
            self.cache[key] = give(*arguments)
        given: Given = self.cache[key]
        return given

    # --- data

    def encode_task(self, task: str, tokenizer: str) -> Estimate:
        """Return the estimate of encoding the splits of a task."""
        spec = self.study.tasks[task]
        return self._encoding(task, {spec.train_split, spec.validation_split, spec.evaluation_split}, tokenizer)

    def encode_test(self, task: str, tokenizer: str) -> Estimate:
        """Return the estimate of encoding the test sets of a task."""
        return self._encoding(task, self.settings.test_sets[tokenizer][task].task.splits or {}, tokenizer)

    def _encoding(self, task: str, splits: Iterable[str], tokenizer: str) -> Estimate:
        parts = [self.volume.split(task, split, tokenizer) for split in splits]
        tokens = sum(rows.count * rows.length for rows in parts)
        return Estimate(Work(seconds=tokens / TOKENIZED_PER_SECOND), READER_BYTES + BYTES_PER_TOKEN * tokens)

    def tokenize_corpus(self, corpus: str, tokenizer: str, part: str, parts: str) -> Estimate:
        """Return the estimate of encoding a part of a corpus."""
        tokens = self.volume.tokens(corpus, tokenizer) / int(parts)
        return Estimate(Work(seconds=tokens / TOKENIZED_PER_SECOND), READER_BYTES + 2 * tokens)

    def build_corpus(self, corpus: str, tokenizer: str) -> Estimate:
        """Return the estimate of packing a corpus into blocks."""
        tokens = self.volume.tokens(corpus, tokenizer)
        return Estimate(Work(seconds=tokens / PACKED_PER_SECOND), READER_BYTES + tokens)

    # --- trainings

    def on_task(self, name: str, task: str, part: str = "", parts: str = "") -> Estimate:
        """Return the estimate of a part (from 1) of a grid on a task, or without a part that of one seed.

        Each point of a part is scored on the validation split. A seed is the mean over the grid, as the best point is
        not known. The memory is that of the largest point.
        """
        settings, model = self._settings(name, task), self._model(name)
        stored = name in self.plan.task_specific and self.plan.reads_stored_activations(name, task)
        apart: dict[str, tuple[list[TrainingCost], Work]] = {}

        def at(point: PointSettings | None) -> tuple[list[TrainingCost], Work]:
            key = repr([one for one in point or () if one[0] != "learning_rate"])  # which changes no work and no memory
            if key not in apart:
                stages = training_work.on_task(settings, point, self.volume, model, task)
                apart[key] = stages, work_of(stages, stored)
            return apart[key]

        every = list(map(at, _points(settings)))
        chosen = every[places_of(int(part), int(parts))] if part else every
        split = settings.task.validation_split if part else settings.task.evaluation_split
        scoring = self._scoring(model, task, settings.task, every[0][0][0].student, [split])
        done = sum((done for _, done in chosen), scoring.times(len(chosen)))
        estimate = self._training(done, [each for stages, _ in apart.values() for each in stages])
        return estimate if part else replace(estimate, work=done.times(1 / len(every)))

    def _settings(self, name: str, task: str) -> OnTask:
        """Return the settings of a student or teacher on a task."""
        if name in self.study.teachers:
            return self.settings.teachers[name][task]
        if name in self.plan.task_specific:
            return self.settings.distillations[name][task]
        return self.settings.finetunings[name][task]

    def fit_teacher_head(self, teacher: str, corpus: str) -> Estimate:
        """Return the estimate of a masked-LM head that is fitted on top of a frozen teacher."""
        settings = self.settings.teacher_heads[teacher][corpus]
        fitted = training_work.of_head(settings, self.volume, self._model(teacher), corpus)
        return self._training(fitted.own, [fitted])

    def distill_student(self, student: str) -> Estimate:
        """Return the estimate of a job that distils one task-agnostic student."""
        stages = self._once(self._stages, student)
        if not stages:  # its first weights are all of it
            teacher = self.settings.students[student].teacher.model
            return self._loaded(Work(), teacher.architecture, teacher.vocabulary)
        estimate = self._training(work_of(stages), stages)
        processes = max(self.workers, 1)  # without workers, the training itself prepares batches
        blocks = max(each.rows.count for each in stages)
        return replace(estimate, ram=estimate.ram + BYTES_PER_BLOCK * processes * blocks)

    def _stages(self, student: str) -> list[TrainingCost]:
        """Return the stages of a task-agnostic student."""
        return training_work.on_corpora(self.settings.students[student], self.volume, self._model(student))

    def step_of(self, student: str) -> Step:
        """Return the memory of the largest step of a task-agnostic student."""
        return memory.largest([each.step for each in self._once(self._stages, student)])

    def step_together(self, students: Sequence[str]) -> Step:
        """Return the memory of the largest step of companions."""
        stages, kept = [self._once(self._stages, student) for student in students], 0.0
        for each, *others in zip(*stages, strict=True):  # all have the same corpora and batches
            assert each.teacher
            terms = [term for one in (each, *others) for term in one.terms]
            row = losses.kept_of_teacher(terms, each.teacher, each.longest, each.outputs, each.precision)
            kept = max(kept, row * each.schedule.batch_size)
        return memory.together([self._once(self.step_of, student) for student in students], kept)

    def _together(self, students: Sequence[str]) -> Estimate:
        """Return the estimate of a job that distils companions."""
        step, ram = self.step_together(students), max(self.distill_student(student).ram for student in students)
        if not self.gpu:  # the states of students that wait for their turn, and what is kept of the teacher's pass
            ram += step.state - max(self._once(self.step_of, student).state for student in students)
            ram += step.kept * step.rows
        return Estimate(self.work_together(students), ram, True, step)

    def work_together(self, students: Iterable[str]) -> Work:
        """Return the work of companions, with the teacher of the longest of them."""
        apart = [self._once(self._apart, student) for student in students]
        longest_of_teacher: Work = max((taught for _, taught in apart), key=lambda work: work.flops)
        return sum((own for own, _ in apart), longest_of_teacher)

    def _apart(self, student: str) -> tuple[Work, Work]:
        """Return the work of a task-agnostic student, and that of its teacher."""
        stages = self._once(self._stages, student)
        return work_of(stages, stored=True), sum((each.taught for each in stages), Work())

    # --- models that are only run

    def record_activations(self, teacher: str, task: str, number: str) -> Estimate:
        """Return the estimate of one pass of a teacher over the training rows of a task."""
        settings = self.settings.teachers[teacher][task].task
        return self._inference(teacher, task, settings, [settings.train_split])

    def predict_test(self, student: str, seed: str, task: str) -> Estimate:
        """Return the estimate of one pass over the test sets of a task."""
        settings = self.settings.predictions[task].task
        return self._inference(student, task, settings, settings.splits or {})

    def _inference(self, name: str, task: str, data: TaskSettings, splits: Iterable[str]) -> Estimate:
        """Estimate one pass of a student or teacher over the rows of some splits of a task."""
        size = self.settings.profiles[name].architecture
        return self._loaded(self._scoring(self._model(name), task, data, size, splits), size, self._vocabulary(name))

    def profile_student(self, student: str) -> Estimate:
        """Return the estimate of the timed passes of each measurement, and one more run to warm up."""
        settings = self.settings.profiles[student]
        measured = [(settings.batch, settings.length), *((one.batch, one.length) for one in settings.further or ())]
        passes = (settings.runs + 1) * settings.passes
        flops = passes * sum(batch * work.forward(settings.architecture, length) for batch, length in measured)
        return self._loaded(Work(flops), settings.architecture, settings.vocabulary)

    def bench_gpu(self) -> Estimate:
        """Return the estimate of the measurement of a GPU, in a process and two that train together."""
        return Estimate(Work(seconds=BENCH), 3 * memory.PROCESS[self.gpu], True)

    def _loaded(self, done: Work, size: Architecture, vocabulary: int) -> Estimate:
        weights = 2 * work.parameters(size, vocabulary)  # of the model, and of its file while it is read
        return Estimate(done, memory.host(None, weights, self.gpu, self.workers), True)

    # --- helpers

    def _model(self, name: str) -> str:
        """Return the name of the pre-trained model of a student's teacher, or of a teacher."""
        return self.study.teachers[self.study.teacher_of(name)].model

    def _vocabulary(self, name: str) -> int:
        return self.study.models[self._model(name)].vocabulary

    def _scoring(self, model: str, task: str, data: TaskSettings, size: Architecture, splits: Iterable[str]) -> Work:
        """Return the work of one pass over the rows of some splits of a task."""
        rows = [self.volume.split(task, split, model) for split in splits]
        return Work(sum(each.count * work.head_of(data, each.length).pass_over(size, each.length) for each in rows))

    def _training(self, done: Work, every: Sequence[TrainingCost]) -> Estimate:
        """Return the estimate of a job with some trainings of one model."""
        size, teacher, vocabulary = every[0].student, every[0].teacher, every[0].vocabulary
        own, step = work.parameters(size, vocabulary), memory.largest([each.step for each in every])
        largest = max(own, work.parameters(teacher, vocabulary) if teacher else 0)
        ram = memory.host(step, largest, self.gpu, self.workers, memory.STATE * own)
        return Estimate(done, ram, True, step)


def _points(settings: OnTask) -> list[PointSettings | None]:
    """Return the points of a grid; None for the settings as they are, where there is no grid."""
    if isinstance(settings, GridSettings):
        return [*settings.points]
    return [*settings.grid.points] if settings.grid else [None]
