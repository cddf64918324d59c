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
from retort.cost.work import Head
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.settings.inputs import CorpusSettings, TaskSettings
from retort.settings.trainings import CorpusDistillationSettings, GridSettings, PointSettings
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule

Wildcards = Any
Given = TypeVar("Given")

SECONDS = {"fetch_source": 120.0, "save_student": 1.0}  # guesses, for rules without a model
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
    """The estimates of the jobs of a plan.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study, self.settings = plan, plan.study, plan.settings
        self.gpu = plan.config.gpus > 0
        self.workers = plan.config.workers(self.gpu)
        self.volume = Volume(plan.study)
        self.of_kind: dict[str, Callable[..., Estimate]] = {  # the arguments are the wildcards of the rule
            "encode_task": self._encode,
            "tokenize_corpus": self._tokenize,
            "build_corpus": self._pack,
            "finetune_teacher": self._teacher,
            "fit_teacher_head": self._head,
            "record_activations": self._activations,
            "distill_on_task": self._on_task,
            "distill_student": self.alone,
            "run_grid": self._grid,
            "finetune_student": self._finetuning,
            "encode_test": self._encode_test,
            "predict_test": self._prediction,
            "profile_student": self._profile,
        }
        self.cache: dict[tuple[Any, ...], Any] = {}

    def of(self, rule: Rule, wildcards: Wildcards) -> Estimate:
        """Return the estimate of a job; its wildcards are attributes, as Snakemake has them."""
        if rule.students:
            return self._once(self._together, rule.students)
        if rule.kind not in self.of_kind:
            return Estimate(Work(seconds=SECONDS.get(rule.kind, OTHERS)))
        one = self._once(self.of_kind[rule.kind], *(str(getattr(wildcards, name)) for name in rule.wildcards))
        return replace(one, work=one.work.times(len(rule.seeds))) if len(rule.seeds) > 1 else one

    def of_seed(self, student: str, task: str) -> Estimate:
        """Return the estimate of a student on a task under one seed."""
        estimate = self._on_task if student in self.plan.task_specific else self._finetuning
        return self._once(estimate, student, task)

    def _once(self, give: Callable[..., Given], *arguments: Any) -> Given:
        """Return what a method of this object gives for some arguments; it is computed once."""
        key = (give.__name__, *arguments)
        if key not in self.cache:
            self.cache[key] = give(*arguments)
        given: Given = self.cache[key]
        return given

    # --- data

    def _encode(self, task: str, tokenizer: str) -> Estimate:
        spec = self.study.tasks[task]
        return self._encoding(task, {spec.train_split, spec.validation_split, spec.evaluation_split}, tokenizer)

    def _encode_test(self, task: str, tokenizer: str) -> Estimate:
        return self._encoding(task, self.settings.test_sets[tokenizer][task].task.splits or {}, tokenizer)

    def _encoding(self, task: str, splits: Iterable[str], tokenizer: str) -> Estimate:
        parts = [self.volume.split(task, split, tokenizer) for split in splits]
        tokens = sum(rows.count * rows.length for rows in parts)
        return Estimate(Work(seconds=tokens / TOKENIZED_PER_SECOND), READER_BYTES + BYTES_PER_TOKEN * tokens)

    def _tokenize(self, corpus: str, tokenizer: str, part: str, parts: str) -> Estimate:
        tokens = self.volume.tokens(corpus, tokenizer)
        seconds = tokens / int(parts) / TOKENIZED_PER_SECOND
        return Estimate(Work(seconds=seconds), READER_BYTES + 2 * tokens / int(parts))

    def _pack(self, corpus: str, tokenizer: str) -> Estimate:
        tokens = self.volume.tokens(corpus, tokenizer)
        return Estimate(Work(seconds=tokens / PACKED_PER_SECOND), READER_BYTES + tokens)

    # --- teachers

    def _teacher(self, teacher: str, task: str) -> Estimate:
        settings = self.settings.teachers[teacher][task]
        model, schedules, split = settings.model, [settings.schedule], settings.task.evaluation_split
        (done,) = self._fine_tunings(teacher, task, model.architecture, settings.task, schedules, split)
        step = _largest_step(model.architecture, model.vocabulary, settings.task, schedules, settings.precision)
        return self._training(done, step, model.architecture, model.vocabulary)

    def _head(self, teacher: str, corpus: str) -> Estimate:
        """Estimate a masked-LM head that is fitted on top of a frozen teacher."""
        settings = self.settings.teacher_heads[teacher][corpus]
        size, vocabulary, schedule = settings.model.architecture, settings.model.vocabulary, settings.schedule
        blocks, head = (
            self.volume.blocks(corpus, schedule, self._model(teacher)),
            _masked_lm(settings.corpus, vocabulary),
        )
        once = work.forward(size, blocks.length) + work.TRAINED * head.flops(size)
        frozen = schedule.model_copy(update={"freeze": ["encoder"]})
        step = memory.of_labels(size, vocabulary, frozen, settings.corpus.block, head.outputs, settings.precision)
        return self._training(Work(work.examples(schedule, blocks.count) * once), step, size, vocabulary)

    def _activations(self, teacher: str, task: str) -> Estimate:
        """Estimate one forward pass over the task's training rows."""
        settings = self.settings.activations[teacher][task].teacher
        return self._inference(teacher, task, settings.task, [settings.task.train_split])

    # --- students

    def _on_task(self, student: str, task: str) -> Estimate:
        settings, model = self.settings.distillations[student][task], self._model(student)
        data, size, teacher = settings.task, settings.architecture, settings.teacher.model
        runs = not self.plan.activations(student, task)
        trained = work.distillation_on_task(settings, task, self.volume, model, runs)
        scored = self.volume.split(task, data.evaluation_split, model)
        scoring = Work(scored.count * work.head_of(data, scored.length).pass_over(size, scored.length))
        steps = []
        for stage in settings.stages:
            length = longest(data, stage.schedule)
            sizes = (size, teacher.architecture, teacher.vocabulary, length, work.head_of(data, length).outputs)
            steps.append(memory.of_stage(stage.terms, stage.schedule, *sizes, settings.precision))
        return self._training(trained + scoring, memory.largest(steps), size, teacher.vocabulary, teacher.architecture)

    def alone(self, student: str) -> Estimate:
        """Return the estimate of a job that distils one task-agnostic student."""
        own, taught, step = self._once(self._apart, student)
        settings = self.settings.students[student]
        model = settings.teacher.model
        estimate = self._training(own + taught, step, settings.architecture, model.vocabulary, model.architecture)
        corpora = {stage.data: stage.schedule for stage in settings.stages}
        blocks = [self.volume.blocks(name, each, self._model(student)).count for name, each in corpora.items()]
        processes = max(self.workers, 1)  # without workers, the training itself prepares batches
        return replace(estimate, ram=estimate.ram + BYTES_PER_BLOCK * processes * max(blocks, default=0))

    def _apart(self, student: str) -> tuple[Work, Work, Step | None]:
        """Return the work of a task-agnostic student and that of its teacher, and the memory of its largest step."""
        settings = self.settings.students[student]
        return *work.distillation_on_corpora(settings, self.volume, self._model(student)), step_on_corpus(settings)

    def _together(self, students: Sequence[str]) -> Estimate:
        """Return the estimate of a job that distils companions."""
        steps = [step for student in students if (step := self._once(self._apart, student)[2])]
        step = step_together([self.settings.students[student] for student in students])
        # the states of students that wait for their turn, and what is kept of the teacher's pass
        others = step.state - max(each.state for each in steps) + step.kept * step.rows if step else 0.0
        ram = max(self.alone(student).ram for student in students) + (0.0 if self.gpu else others)
        return Estimate(self.work_together(students), ram, True, step)

    def work_together(self, students: Iterable[str]) -> Work:
        """Return the work of companions, with the teacher of the longest of them."""
        apart = [self._once(self._apart, student) for student in students]
        longest_of_teacher: Work = max((taught for _, taught, _ in apart), key=lambda work: work.flops)
        return sum((own for own, _, _ in apart), longest_of_teacher)

    def _grid(self, student: str, task: str, part: str, parts: str) -> Estimate:
        """Estimate one part (from 1) of a grid: each of its points, scored on the validation split."""
        settings = self.settings.grids[student][task]
        points = settings.points[int(part) - 1 :: int(parts)]
        works = self._on_grid(student, task, settings, points, settings.task.validation_split)
        return self._largest_on_grid(sum(works, Work()), settings)

    def _finetuning(self, student: str, task: str) -> Estimate:
        """Estimate one seed of a fine-tuned student: the mean over the grid, as the best point is not known."""
        settings = self.settings.finetunings[student][task]
        works = self._on_grid(student, task, settings, settings.points, settings.task.evaluation_split)
        return self._largest_on_grid(sum(works, Work()).times(1 / len(works)), settings)

    def _on_grid(
        self, student: str, task: str, settings: GridSettings, points: list[PointSettings], split: str
    ) -> list[Work]:
        schedules = [point.applied_to(settings.schedule) for point in points]
        return self._fine_tunings(student, task, settings.student.architecture, settings.task, schedules, split)

    def _largest_on_grid(self, done: Work, settings: GridSettings) -> Estimate:
        size, vocabulary = settings.student.architecture, settings.student.teacher.model.vocabulary
        schedules = [point.applied_to(settings.schedule) for point in settings.points]
        step = _largest_step(size, vocabulary, settings.task, schedules, settings.precision)
        return self._training(done, step, size, vocabulary)

    def _prediction(self, student: str, seed: str, task: str) -> Estimate:
        settings = self.settings.predictions[task].task
        return self._inference(student, task, settings, settings.splits or {})

    def _profile(self, student: str) -> Estimate:
        """Estimate the timed passes of each measurement, and one more run to warm up."""
        settings = self.settings.profiles[student]
        measured = [(settings.batch, settings.length), *((one.batch, one.length) for one in settings.further or ())]
        passes = (settings.runs + 1) * settings.passes
        flops = passes * sum(batch * work.forward(settings.architecture, length) for batch, length in measured)
        return self._loaded(Work(flops), settings.architecture, settings.vocabulary)

    # --- helpers

    def _model(self, name: str) -> str:
        """Return the name of the pre-trained model of a student's teacher, or of a teacher."""
        return self.study.teachers[self.study.teacher_of(name)].model

    def _fine_tunings(
        self, name: str, task: str, size: Architecture, data: TaskSettings, schedules: list[Schedule], split: str
    ) -> list[Work]:
        """Return the work of a fine-tuning with each of several schedules, each scored once on a split."""
        model = self._model(name)
        scored, vocabulary = self.volume.split(task, split, model), self.study.models[model].vocabulary
        return work.fine_tunings(
            size, vocabulary, data, schedules, lambda schedule: self.volume.batches(task, model, schedule), scored
        )

    def _training(
        self, done: Work, step: Step | None, size: Architecture, vocabulary: int, teacher: Architecture | None = None
    ) -> Estimate:
        own = work.parameters(size, vocabulary)
        largest = max(own, work.parameters(teacher, vocabulary) if teacher else 0)
        ram = memory.host(step, largest, self.gpu, self.workers, memory.STATE * own)
        return Estimate(done, ram, True, step)

    def _inference(self, name: str, task: str, data: TaskSettings, splits: Iterable[str]) -> Estimate:
        """Estimate one pass of a student or teacher over the rows of some splits of a task."""
        model, size = self._model(name), self.settings.profiles[name].architecture
        rows = [self.volume.split(task, split, model) for split in splits]
        passes = (Work(each.count * work.head_of(data, each.length).pass_over(size, each.length)) for each in rows)
        return self._loaded(sum(passes, Work()), size, self.study.models[model].vocabulary)

    def _loaded(self, done: Work, size: Architecture, vocabulary: int) -> Estimate:
        weights = 2 * work.parameters(size, vocabulary)  # of the model, and of its file while it is read
        return Estimate(done, memory.host(None, weights, self.gpu, self.workers), True)


def _masked_lm(corpus: CorpusSettings, vocabulary: int) -> Head:
    return work.masked_lm(vocabulary, corpus.masking.probability * corpus.block)


def _largest_step(
    size: Architecture, vocabulary: int, task: TaskSettings, schedules: list[Schedule], precision: str
) -> Step | None:
    """Return the memory of the largest step of fine-tunings with some schedules."""
    steps = []
    for each in schedules:
        length = longest(task, each)
        outputs = work.head_of(task, length).outputs
        steps.append(memory.of_labels(size, vocabulary, each, length, outputs, precision))
    return memory.largest(steps)


def step_on_corpus(settings: CorpusDistillationSettings) -> Step | None:
    """Return the memory of the largest step of a task-agnostic student."""
    model, steps = settings.teacher.model, []
    for stage in settings.stages:
        corpus = settings.corpora[stage.data]
        outputs = _masked_lm(corpus, model.vocabulary).outputs
        sizes = (settings.architecture, model.architecture, model.vocabulary, corpus.block, outputs)
        steps.append(memory.of_stage(stage.terms, stage.schedule, *sizes, settings.precision))
    return memory.largest(steps)


def step_together(students: list[CorpusDistillationSettings]) -> Step | None:
    """Return the memory of the largest step of companions."""
    steps, first, kept = [step for own in students if (step := step_on_corpus(own))], students[0], 0.0
    model = first.teacher.model
    for number, stage in enumerate(first.stages):  # all have the same corpora and batches
        corpus, terms = first.corpora[stage.data], [term for own in students for term in own.stages[number].terms]
        outputs = _masked_lm(corpus, model.vocabulary).outputs
        row = losses.kept_of_teacher(terms, model.architecture, corpus.block, outputs, first.precision)
        kept = max(kept, row * stage.schedule.batch_size)
    return memory.together(steps, kept) if steps else None


def longest(task: TaskSettings, schedule: Schedule) -> int:
    """Return the most tokens that a training row of a task can have."""
    return min(task.max_length, schedule.max_length or task.max_length)
