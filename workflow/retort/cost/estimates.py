"""What a job takes, by its rule and its wildcards: work, memory, and whether it runs on a GPU.

A rule that trains or runs a model, or prepares data, has a method here; for others there are guesses. All seeds of a
student take the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from retort.cost import losses, memory, work
from retort.cost.memory import Step
from retort.cost.speed import Work
from retort.cost.volume import Volume
from retort.cost.work import Distillation, Trained
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import GridSettings, PointSettings, TaskDistillationSettings, TeacherSettings
from retort.settings.trials import places_of
from retort.specs.model import Architecture

Wildcards = Any
Given = TypeVar("Given")
Gridded = GridSettings | TaskDistillationSettings | TeacherSettings

SECONDS = {"fetch_source": 120.0, "save_student": 1.0}  # guesses, for rules without a model
BENCH = 600.0  # seconds that `retort bench gpu` takes at most
OTHERS = 10.0  # the same for tables, figures and pages
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
    """The estimates of the jobs of a plan: a method for each kind of rule, of its name and its wildcards.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study, self.settings = plan, plan.study, plan.settings
        self.gpu = plan.config.gpus > 0
        self.workers = plan.config.workers(self.gpu)
        self.volume = Volume(plan.study)
        self.cache: dict[tuple[Any, ...], Any] = {}

    def of(self, rule: Rule, wildcards: Wildcards) -> Estimate:
        """Return the estimate of a job; its wildcards are attributes, as Snakemake has them."""
        if rule.students:
            return self._once(self._together, rule.students)
        estimate: Callable[..., Estimate] | None = getattr(self, rule.kind, None)
        if estimate is None:
            return Estimate(Work(seconds=SECONDS.get(rule.kind, OTHERS)))
        one = self._once(estimate, *(str(getattr(wildcards, name)) for name in rule.wildcards))
        return replace(one, work=one.work.times(len(rule.seeds))) if len(rule.seeds) > 1 else one

    def of_seed(self, student: str, task: str) -> Estimate:
        """Return the estimate of a student on a task under one seed."""
        estimate = self.distill_on_task if student in self.plan.task_specific else self.finetune_student
        return self._once(estimate, student, task)

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

    # --- fine-tunings

    def run_grid_of_teacher(self, teacher: str, task: str, part: str, parts: str) -> Estimate:
        """Return the estimate of one part (from 1) of a grid: each of its points, scored on the validation split."""
        settings = self.settings.teachers[teacher][task]
        points, split = places_of(int(part), int(parts)), settings.task.validation_split
        return self._fine_tuned(teacher, task, settings.model.architecture, settings, split, points)

    def finetune_teacher(self, teacher: str, task: str) -> Estimate:
        """Return the estimate of a teacher on a task: the mean over its grid, as the best point is not known."""
        settings = self.settings.teachers[teacher][task]
        size, split = settings.model.architecture, settings.task.evaluation_split
        return _mean(settings, self._fine_tuned(teacher, task, size, settings, split))

    def run_grid(self, student: str, task: str, part: str, parts: str) -> Estimate:
        """Return the estimate of one part (from 1) of a grid: each of its points, scored on the validation split."""
        settings = self.settings.grids[student][task]
        points, split = places_of(int(part), int(parts)), settings.task.validation_split
        return self._fine_tuned(student, task, settings.student.architecture, settings, split, points)

    def finetune_student(self, student: str, task: str) -> Estimate:
        """Return the estimate of one seed: the mean over the grid, as the best point is not known."""
        settings = self.settings.finetunings[student][task]
        size, split = settings.student.architecture, settings.task.evaluation_split
        return _mean(settings, self._fine_tuned(student, task, size, settings, split))

    def _fine_tuned(
        self,
        name: str,
        task: str,
        size: Architecture,
        settings: TeacherSettings | GridSettings,
        split: str,
        points: slice = slice(None),
    ) -> Estimate:
        """Estimate fine-tunings at some points of a grid, each scored; the memory is that of the largest point."""
        schedules = [point.applied_to(settings.schedule) for point in _points(settings)]
        model, vocabulary, data, done, steps = self._model(name), self._vocabulary(name), settings.task, Work(), []
        scoring = self._scoring(model, task, data, size, [split])
        for schedule in schedules[points]:
            rows = self.volume.batches(task, model, schedule)
            once = work.head_of(data, rows.length).pass_over(size, rows.length)
            training = Work(work.TRAINED * work.examples(schedule, rows.count) * once)
            done += training + scoring + work.updates(size, vocabulary, schedule, rows.count)
        for schedule in schedules:
            length = work.longest(data, schedule)
            outputs = work.head_of(data, length).outputs
            steps.append(memory.of_labels(size, vocabulary, schedule, length, outputs, settings.precision))
        return self._training(done, memory.largest(steps), size, vocabulary)

    def fit_teacher_head(self, teacher: str, corpus: str) -> Estimate:
        """Return the estimate of a masked-LM head that is fitted on top of a frozen teacher."""
        settings = self.settings.teacher_heads[teacher][corpus]
        size, vocabulary, schedule = settings.model.architecture, settings.model.vocabulary, settings.schedule
        blocks = self.volume.blocks(corpus, schedule, self._model(teacher))
        head = work.masked_lm(vocabulary, settings.corpus.masking.probability, settings.corpus.block)
        once = work.forward(size, blocks.length) + work.TRAINED * head.flops(size)
        frozen = schedule.model_copy(update={"freeze": ["encoder"]})
        step = memory.of_labels(size, vocabulary, frozen, settings.corpus.block, head.outputs, settings.precision)
        return self._training(Work(work.examples(schedule, blocks.count) * once), step, size, vocabulary)

    # --- distillations

    def run_grid_on_task(self, student: str, task: str, part: str, parts: str) -> Estimate:
        """Return the estimate of one part (from 1) of a grid: each of its points, scored on the validation split."""
        settings = self.settings.distillations[student][task]
        return self._on_task(student, task, settings, settings.task.validation_split, places_of(int(part), int(parts)))

    def distill_on_task(self, student: str, task: str) -> Estimate:
        """Return the estimate of one seed on a task: the mean over the grid, as the best point is not known."""
        settings = self.settings.distillations[student][task]
        return _mean(settings, self._on_task(student, task, settings, settings.task.evaluation_split))

    def _on_task(
        self, student: str, task: str, settings: TaskDistillationSettings, split: str, points: slice = slice(None)
    ) -> Estimate:
        """Estimate distillations at some points of a grid, each scored; the memory is that of the largest."""
        model, done, every = self._model(student), Work(), list[Trained]()
        scoring = self._scoring(model, task, settings.task, settings.architecture, [split])
        stored = bool(self.plan.activations(student, task))  # then the teacher does not run
        for each in map(settings.at, _points(settings)[points]):
            stages = work.stages_of(each, self.volume, model, task)
            own, taught = work.distillation(each, stages)
            done += own + scoring if stored else own + scoring + taught
            every += stages
        return self._distilled(done, settings, every)

    def distill_student(self, student: str) -> Estimate:
        """Return the estimate of a job that distils one task-agnostic student."""
        own, taught, stages = self._once(self._apart, student)
        estimate = self._distilled(own + taught, self.settings.students[student], stages)
        processes = max(self.workers, 1)  # without workers, the training itself prepares batches
        blocks = max((each.rows.count for each in stages), default=0)
        return replace(estimate, ram=estimate.ram + BYTES_PER_BLOCK * processes * blocks)

    def _apart(self, student: str) -> tuple[Work, Work, list[Trained]]:
        """Return the work of a task-agnostic student, that of its teacher, and its stages."""
        settings = self.settings.students[student]
        stages = work.stages_of(settings, self.volume, self._model(student))
        return *work.distillation(settings, stages), stages

    def step_of(self, student: str) -> Step | None:
        """Return the memory of the largest step of a task-agnostic student."""
        return _step_of_stages(self.settings.students[student], self._once(self._apart, student)[2])

    def step_together(self, students: Sequence[str]) -> Step | None:
        """Return the memory of the largest step of companions."""
        steps = [step for student in students if (step := self.step_of(student))]
        teacher, precision = (first := self.settings.students[students[0]]).teacher.model, first.precision
        stages, kept = [self._once(self._apart, student)[2] for student in students], 0.0
        for each, *others in zip(*stages, strict=True):  # all have the same corpora and batches
            terms = [term for one in (each, *others) for term in one.stage.terms]
            outputs = each.head(each.longest).outputs
            row = losses.kept_of_teacher(terms, teacher.architecture, each.longest, outputs, precision)
            kept = max(kept, row * each.stage.schedule.batch_size)
        return memory.together(steps, kept) if steps else None

    def _together(self, students: Sequence[str]) -> Estimate:
        """Return the estimate of a job that distils companions."""
        step = self.step_together(students)
        # the states of students that wait for their turn, and what is kept of the teacher's pass
        largest = max(alone.state for student in students if (alone := self.step_of(student))) if step else 0.0
        others = step.state - largest + step.kept * step.rows if step else 0.0
        ram = max(self.distill_student(student).ram for student in students) + (0.0 if self.gpu else others)
        return Estimate(self.work_together(students), ram, True, step)

    def work_together(self, students: Iterable[str]) -> Work:
        """Return the work of companions, with the teacher of the longest of them."""
        apart = [self._once(self._apart, student) for student in students]
        longest_of_teacher: Work = max((taught for _, taught, _ in apart), key=lambda work: work.flops)
        return sum((own for own, _, _ in apart), longest_of_teacher)

    # --- models that are only run

    def record_activations(self, teacher: str, task: str) -> Estimate:
        """Return the estimate of one forward pass over the task's training rows."""
        settings = self.settings.activations[teacher][task].teacher
        return self._inference(teacher, task, settings.task, [settings.task.train_split])

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

    def _distilled(self, done: Work, settings: Distillation, stages: list[Trained]) -> Estimate:
        model, step = settings.teacher.model, _step_of_stages(settings, stages)
        return self._training(done, step, settings.architecture, model.vocabulary, model.architecture)

    def _training(
        self, done: Work, step: Step | None, size: Architecture, vocabulary: int, teacher: Architecture | None = None
    ) -> Estimate:
        own = work.parameters(size, vocabulary)
        largest = max(own, work.parameters(teacher, vocabulary) if teacher else 0)
        ram = memory.host(step, largest, self.gpu, self.workers, memory.STATE * own)
        return Estimate(done, ram, True, step)


def _points(settings: Gridded) -> list[PointSettings]:
    """Return the points of a grid; one that changes nothing where there is none."""
    if isinstance(settings, GridSettings):
        return settings.points
    return settings.grid.points if settings.grid else [PointSettings()]


def _mean(settings: Gridded, estimate: Estimate) -> Estimate:
    """Return the estimate of the mean point of a grid from that of all points."""
    return replace(estimate, work=estimate.work.times(1 / len(_points(settings))))


def _step_of_stages(settings: Distillation, stages: list[Trained]) -> Step | None:
    """Return the memory of the largest step of a student."""
    model, steps = settings.teacher.model, []
    for each in stages:
        outputs = each.head(each.longest).outputs
        sizes = (settings.architecture, model.architecture, model.vocabulary, each.longest, outputs)
        steps.append(memory.of_stage(each.stage.terms, each.stage.schedule, *sizes, settings.precision))
    return memory.largest(steps)
