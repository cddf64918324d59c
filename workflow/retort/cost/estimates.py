"""What a job takes, by its rule and its wildcards: work, memory, and whether it runs on a GPU.

A rule that trains or runs a model, or prepares data, has a method here; for others there are guesses. All seeds of a
student take the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retort.cost import losses, memory, work
from retort.cost.memory import Step
from retort.cost.preprocessing import Volume
from retort.cost.work import Work
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import CorpusDistillationSettings, GridSettings
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule

Wildcards = Any

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
        self.of_kind: dict[str, tuple[Callable[..., Estimate], tuple[str, ...]]] = {
            "encode_task": (self._encode, ("task", "tokenizer")),
            "tokenize_corpus": (self._tokenize, ("corpus", "tokenizer", "parts")),
            "build_corpus": (self._pack, ("corpus", "tokenizer")),
            "finetune_teacher": (self._teacher, ("teacher", "task")),
            "fit_teacher_head": (self._head, ("teacher", "corpus")),
            "record_activations": (self._activations, ("teacher", "task")),
            "distill_on_task": (self._on_task, ("student", "task")),
            "distill_student": (self.alone, ("student",)),
            "run_grid": (self._grid, ("student", "task", "part", "parts")),
            "finetune_student": (self._finetuning, ("student", "task")),
            "encode_test": (self._encode_test, ("task", "tokenizer")),
            "predict_test": (self._prediction, ("student", "task")),
            "profile_student": (self._profile, ("student",)),
        }
        self.cache: dict[tuple[str, ...], Estimate] = {}
        self.by_student: dict[str, tuple[Work, Work, Step | None]] = {}

    def of(self, rule: Rule, wildcards: Wildcards) -> Estimate:
        """Return the estimate of a job; its wildcards are attributes, as Snakemake has them."""
        if rule.students:
            return self._once("together", *rule.students, estimate=lambda *students: self._together(students))
        if rule.kind not in self.of_kind:
            return Estimate(Work(seconds=SECONDS.get(rule.kind, OTHERS)))
        estimate, names = self.of_kind[rule.kind]
        one = self._once(rule.kind, *(str(getattr(wildcards, name)) for name in names), estimate=estimate)
        return replace(one, work=one.work.times(len(rule.seeds))) if len(rule.seeds) > 1 else one

    def of_seed(self, student: str, task: str) -> Estimate:
        """Return the estimate of a student on a task under one seed."""
        kind = "distill_on_task" if student in self.plan.task_specific else "finetune_student"
        return self._once(kind, student, task, estimate=self.of_kind[kind][0])

    def _once(self, *key: str, estimate: Callable[..., Estimate]) -> Estimate:
        """Return the estimate for a key, a name and its arguments; it is computed once."""
        if key not in self.cache:
            self.cache[key] = estimate(*key[1:])
        return self.cache[key]

    # --- data

    def _encode(self, task: str, tokenizer: str) -> Estimate:
        settings = self.settings.tasks[tokenizer][task].task
        splits = {settings.train_split, settings.validation_split, settings.evaluation_split}
        return self._encoding(task, settings, splits, tokenizer)

    def _encode_test(self, task: str, tokenizer: str) -> Estimate:
        settings = self.settings.test_sets[tokenizer][task].task
        return self._encoding(task, settings, settings.splits or {}, tokenizer)

    def _encoding(self, task: str, settings: TaskSettings, splits: Iterable[str], tokenizer: str) -> Estimate:
        parts = [self.volume.split(task, settings, split, tokenizer) for split in splits]
        tokens = sum(rows.count * rows.length for rows in parts)
        return Estimate(Work(seconds=tokens / TOKENIZED_PER_SECOND), READER_BYTES + BYTES_PER_TOKEN * tokens)

    def _tokenize(self, corpus: str, tokenizer: str, parts: str) -> Estimate:
        tokens = self.volume.tokens(corpus, tokenizer)
        return Estimate(
            Work(seconds=tokens / int(parts) / TOKENIZED_PER_SECOND), READER_BYTES + 2 * tokens / int(parts)
        )

    def _pack(self, corpus: str, tokenizer: str) -> Estimate:
        tokens = self.volume.tokens(corpus, tokenizer)
        return Estimate(Work(seconds=tokens / PACKED_PER_SECOND), READER_BYTES + tokens)

    # --- teachers

    def _teacher(self, teacher: str, task: str) -> Estimate:
        settings, model = self.settings.teachers[teacher][task], self.study.teachers[teacher].model
        size, vocabulary = settings.model.architecture, settings.model.vocabulary
        step = self._label_step(size, vocabulary, settings.schedule, settings.task, settings.precision)
        return self._training(work.teacher(settings, task, self.volume, model), step, size, vocabulary)

    def _head(self, teacher: str, corpus: str) -> Estimate:
        settings, model = self.settings.teacher_heads[teacher][corpus], self.study.teachers[teacher].model
        size, vocabulary, block = settings.model.architecture, settings.model.vocabulary, settings.corpus.block
        schedule = settings.schedule.model_copy(update={"freeze": ["encoder"]})
        outputs = settings.corpus.masking.probability * block * vocabulary
        step = memory.of_labels(size, vocabulary, schedule, block, outputs, settings.precision)
        return self._training(work.head(settings, corpus, self.volume, model), step, size, vocabulary)

    def _activations(self, teacher: str, task: str) -> Estimate:
        settings, model = self.settings.activations[teacher][task], self.study.teachers[teacher].model
        done, of = work.activations(settings, task, self.volume, model), settings.teacher.model
        return self._inference(done, of.architecture, of.vocabulary)

    # --- students

    def _on_task(self, student: str, task: str) -> Estimate:
        settings, model = self.settings.distillations[student][task], self._teacher_model(student)
        runs = not self.plan.activations(student, task)
        done = work.task_distillation(settings, task, self.volume, model, runs)
        vocabulary, taught = settings.teacher.model.vocabulary, settings.teacher.model.architecture
        steps = []
        for stage in settings.stages:
            length = longest(settings.task, stage.schedule)
            outputs = work.outputs_on(settings.task, length)
            sizes = (settings.architecture, taught, vocabulary, length, outputs)
            steps.append(memory.of_stage(stage.terms, stage.schedule, *sizes, settings.precision))
        return self._training(done, _largest(steps), settings.architecture, vocabulary, taught)

    def alone(self, student: str) -> Estimate:
        """Return the estimate of a job that distils one task-agnostic student."""
        own, taught, step = self._parts(student)
        settings = self.settings.students[student]
        model = settings.teacher.model
        estimate = self._training(own + taught, step, settings.architecture, model.vocabulary, model.architecture)
        corpora = {stage.data: stage.schedule for stage in settings.stages}
        blocks = [self.volume.blocks(name, each, self._teacher_model(student)).count for name, each in corpora.items()]
        processes = max(self.workers, 1)  # without workers, the training itself prepares batches
        return replace(estimate, ram=estimate.ram + BYTES_PER_BLOCK * processes * max(blocks, default=0))

    def _parts(self, student: str) -> tuple[Work, Work, Step | None]:
        """Return the work of a task-agnostic student and that of its teacher, and the memory of its largest step."""
        if student not in self.by_student:
            settings = self.settings.students[student]
            own, taught = work.corpus_distillation(settings, self.volume, self._teacher_model(student))
            self.by_student[student] = own, taught, step_on_corpus(settings)
        return self.by_student[student]

    def _together(self, students: Sequence[str]) -> Estimate:
        """Return the estimate of a job that distils students side by side."""
        steps = [step for student in students if (step := self._parts(student)[2])]
        step = step_together([self.settings.students[student] for student in students])
        # the states of students that wait for their turn, and what is kept of the teacher's pass
        others = step.state - max(each.state for each in steps) + step.kept * step.rows if step else 0.0
        ram = max(self.alone(student).ram for student in students) + (0.0 if self.gpu else others)
        return Estimate(self.work_together(students), ram, True, step)

    def work_together(self, students: Iterable[str]) -> Work:
        """Return the work of task-agnostic students side by side, with the teacher of the longest of them."""
        parts = [self._parts(student) for student in students]
        taught = max((part[1] for part in parts), key=lambda work: work.flops)
        return sum((own for own, _, _ in parts), taught)

    def _grid(self, student: str, task: str, part: str, parts: str) -> Estimate:
        settings = self.settings.grids[student][task]
        done = work.grid(settings, int(part), int(parts), task, self.volume, self._teacher_model(student))
        return self._on_grid(done, settings)

    def _finetuning(self, student: str, task: str) -> Estimate:
        settings = self.settings.finetunings[student][task]
        return self._on_grid(work.finetuning(settings, task, self.volume, self._teacher_model(student)), settings)

    def _on_grid(self, done: Work, settings: GridSettings) -> Estimate:
        size, vocabulary = settings.student.architecture, settings.student.teacher.model.vocabulary
        schedules = [point.applied_to(settings.schedule) for point in settings.points]
        steps = [self._label_step(size, vocabulary, each, settings.task, settings.precision) for each in schedules]
        return self._training(done, _largest(steps), size, vocabulary)

    def _prediction(self, student: str, task: str) -> Estimate:
        settings, model = self.settings.predictions[task].task, self._teacher_model(student)
        size, vocabulary = self._architecture(student), self.study.models[model].vocabulary
        rows = [self.volume.split(task, settings, split, model) for split in settings.splits or {}]
        done = sum((work.prediction(size, settings, each) for each in rows), Work())
        return self._inference(done, size, vocabulary)

    def _profile(self, student: str) -> Estimate:
        settings = self.settings.profiles[student]
        return self._inference(work.profile(settings), settings.architecture, settings.vocabulary)

    # --- helpers

    def _teacher_model(self, name: str) -> str:
        """Return the name of the pre-trained model of a student's teacher, or of a teacher."""
        return self.study.teachers[self.study.teacher_of(name)].model

    def _architecture(self, name: str) -> Architecture:
        return self.settings.profiles[name].architecture

    def _label_step(
        self, size: Architecture, vocabulary: int, schedule: Schedule, task: TaskSettings, precision: str
    ) -> Step:
        length = longest(task, schedule)
        return memory.of_labels(size, vocabulary, schedule, length, work.outputs_on(task, length), precision)

    def _training(
        self, done: Work, step: Step | None, size: Architecture, vocabulary: int, teacher: Architecture | None = None
    ) -> Estimate:
        own = work.parameters(size, vocabulary)
        largest = max(own, work.parameters(teacher, vocabulary) if teacher else 0)
        ram = memory.host(step, largest, self.gpu, self.workers, memory.STATE * own)
        return Estimate(done, ram, True, step)

    def _inference(self, done: Work, size: Architecture, vocabulary: int) -> Estimate:
        weights = 2 * work.parameters(size, vocabulary)  # of the model, and of its file while it is read
        return Estimate(done, memory.host(None, weights, self.gpu, self.workers), True)


def step_on_corpus(settings: CorpusDistillationSettings) -> Step | None:
    """Return the memory of the largest step of a task-agnostic student."""
    model = settings.teacher.model
    steps = []
    for stage in settings.stages:
        corpus = settings.corpora[stage.data]
        outputs = corpus.masking.probability * corpus.block * model.vocabulary
        sizes = (settings.architecture, model.architecture, model.vocabulary, corpus.block, outputs)
        steps.append(memory.of_stage(stage.terms, stage.schedule, *sizes, settings.precision))
    return _largest(steps)


def step_together(students: list[CorpusDistillationSettings]) -> Step | None:
    """Return the memory of the largest step of students that are distilled side by side."""
    steps, first, kept = [step for own in students if (step := step_on_corpus(own))], students[0], 0.0
    model = first.teacher.model
    for number, stage in enumerate(first.stages):  # all have the same corpora and batches
        corpus, terms = first.corpora[stage.data], [term for own in students for term in own.stages[number].terms]
        outputs = corpus.masking.probability * corpus.block * model.vocabulary
        row = losses.kept_of_teacher(terms, model.architecture, corpus.block, outputs, first.precision)
        kept = max(kept, row * stage.schedule.batch_size)
    return memory.together(steps, kept) if steps else None


def _largest(steps: list[Step]) -> Step | None:
    return max(steps, key=lambda step: step.bytes(step.rows), default=None)


def longest(task: TaskSettings, schedule: Schedule) -> int:
    """Return the most tokens that a training row of a task can have."""
    return min(task.max_length, schedule.max_length or task.max_length)
