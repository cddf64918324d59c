"""The rules of the workflow, which Snakemake, the cost model and rehearsals read here."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType, SimpleNamespace
from typing import Any

from snakemake.io import directory, temp

from retort.errors import RetortError
from retort.plan import exhibits, resolve_data
from retort.plan.plan import Plan, source_folder
from retort.plan.rule import Rule, matching
from retort.plan.sharing import grid_parts, inputs_of, students_by_seeds
from retort.study.cells import answers_address
from retort.study.questions import seeds_of, submitted_sources

Wildcards = Any

NUMBER = r"\d+"
FIRST = 100  # the priority of jobs behind the first table
PARTS = {"part": NUMBER, "parts": NUMBER}
SCORE = "results/scores/{student}/{task}/seed-{seed}.json"
TRIALS = "results/trials/{student}/{task}/{part}-of-{parts}.jsonl"


class Rules(dict[str, Rule]):
    """The rules of a plan by their names in Snakemake; `rule_of` looks them up by the files that they make.

    Args:
        plan: the plan.
        companions: label of a job -> the companions that it distils.
        divided: student -> number of jobs of its seeds; one where it is left out.
    """

    def __init__(self, plan: Plan, companions: dict[str, list[str]], divided: dict[str, int]) -> None:
        self.plan, self.companions, self.divided = plan, companions, divided
        every = (
            *_data(plan),
            *_teachers(plan),
            *_distilled_on_tasks(plan, divided),
            *_distilled_on_corpora(plan, companions),
            *_fine_tuned(plan, divided),
            *_submissions(plan),
            *exhibits.rules_of_tables(plan),
            *exhibits.rules_of_figures(plan),
            *exhibits.rules_of_pages(plan),
        )
        super().__init__((rule.name, rule) for rule in every)
        self._by_folder: dict[str, list[tuple[Rule, re.Pattern[str]]]] = {}
        for rule in every:
            functions: Iterator[Any] = filter(callable, (*rule.inputs.values(), *rule.params.values()))
            for function in functions:
                function.__signature__ = inspect.signature(function)  # Snakemake asks for it several times a job
            for path, pattern in zip(rule.paths, rule.patterns, strict=True):
                self._by_folder.setdefault(_folder(path), []).append((rule, pattern))

    @property
    def constraints(self) -> dict[str, str]:
        """Wildcard -> regular expression, for all rules."""
        study = self.plan.study
        return {
            "task": matching(study.tasks),
            "corpus": matching(study.corpora),
            "tokenizer": matching(study.tokenizers),
            "paper": matching(study.papers),
            "student": "[A-Za-z0-9-]+",
        }

    def of_kind(self, kind: str) -> list[Rule]:
        """Return the rules of a kind."""
        return [rule for rule in self.values() if rule.kind == kind]

    def rule_of(self, path: str) -> tuple[Rule, SimpleNamespace] | None:
        """Return the rule that makes a file or folder, and the wildcards; None for a file of the study."""
        for rule, pattern in self._by_folder.get(_folder(path), []):
            if match := pattern.fullmatch(path):
                return rule, SimpleNamespace(**match.groupdict())
        return None

    def priority(self, rule: Rule) -> Callable[[Wildcards], int]:
        """Return a function from wildcards to the priority of a job: what the first table needs comes first."""
        return lambda wildcards: FIRST if rule.log.format(**dict(wildcards.items())) in self._first else 0

    def message(self, rule: Rule) -> str | None:
        """Return what Snakemake calls the jobs of a rule that trains other models than its students are named after.

        It has Snakemake's form, with wildcards. None: the scale trains what the papers print.
        """
        scale, study = self.plan.study.scale, self.plan.study
        if any(paper.ours for paper in study.papers.values()) or not (scale.replacements or scale.miniature):
            return None
        instead = f"smaller, from {scale.replacements.model}" if scale.replacements else "in miniature, made"
        values = ", ".join([*(f"{{wildcards.{name}}}" for name in rule.wildcards), *filter(None, [rule.label])])
        return f"{rule.kind}({values}), {instead}"

    @cached_property
    def _first(self) -> set[str]:
        """The logs, by which jobs are known, of the jobs behind the first table."""
        logs, paths = set[str](), exhibits.first(self.plan.study)
        while paths:
            if found := self.rule_of(paths.pop()):
                rule, wildcards = found
                log = rule.key(wildcards)
                if log not in logs:
                    logs.add(log)
                    paths += rule.input_paths(wildcards)
        return logs


def _folder(path: str) -> str:
    """Return the beginning of a path without wildcards, by which rules are indexed: 'reports', 'results/scores', ..."""
    first, _, rest = path.partition("/")
    second = rest.partition("/")[0]
    return f"{first}/{second}" if first == "results" else first


def _data(plan: Plan) -> Iterator[Rule]:
    study = plan.study
    made = {name for name, source in study.sources.items() if source.location(plan.config) == "made"}
    source = {"folder": directory(source_folder("{source}"))}
    settings = {"settings": plan.at("sources", "source")}
    yield Rule("fetch_source", source, {}, settings, {"source": matching(study.sources.keys() - made)})
    yield Rule("make_source", source, {}, settings, {"source": matching(made)})
    tokenizer = {"tokenizer": lambda of: plan.model_folder(of.tokenizer)}
    yield Rule(
        "encode_task",
        {"folder": directory("results/encoded/{task}/{tokenizer}")},
        {"sources": lambda of: list(map(source_folder, study.tasks[of.task].sources)), **tokenizer},
        {"settings": plan.at("tasks", "tokenizer", "task")},
    )

    def corpus_parts(of: Wildcards) -> list[str]:
        count = study.corpora[of.corpus].jobs.parts
        return [f"results/tokenized/{of.corpus}/{of.tokenizer}/{part}-of-{count}" for part in range(1, count + 1)]

    corpus = {
        "sources": lambda of: list(map(source_folder, resolve_data.corpus_sources(study, of.corpus))),
        **tokenizer,
    }
    settings = {"settings": plan.at("corpora", "tokenizer", "corpus")}
    tokens = temp(directory("results/tokenized/{corpus}/{tokenizer}/{part}-of-{parts}"))
    yield Rule("tokenize_corpus", {"folder": tokens}, corpus, settings, PARTS)
    blocks = {"folder": directory("results/corpora/{corpus}/{tokenizer}")}
    yield Rule("build_corpus", blocks, {**corpus, "parts": corpus_parts}, settings)


def _teachers(plan: Plan) -> Iterator[Rule]:
    study, model = plan.study, "results/teachers/{teacher}/{task}/model"
    begins = {
        "model": lambda of: plan.pretrained_folder(of.teacher),
        "tokenizer": lambda of: plan.tokenizer_folder(of.teacher),
    }
    encoded = {"encoded": lambda of: plan.encoded(of.teacher, of.task)}
    names = {"teacher": matching(study.teachers), "task": matching(study.tasks), "corpus": matching(study.corpora)}
    seed = min((teacher.seed for teacher in study.teachers.values()), default=1)
    score = SCORE.replace("{student}", "{teacher}").replace("{seed}", str(seed))
    settings = {"settings": plan.at("teachers", "teacher", "task")}
    yield Rule(
        "run_grid_of_teacher",
        {"trials": TRIALS.replace("{student}", "{teacher}")},
        {**encoded, **begins},
        settings,
        {**names, **PARTS},
    )
    yield Rule(
        "finetune_teacher",
        {"score": score, "answers": answers_address(score), "model": directory(model)},
        {**encoded, **begins, "trials": lambda of: grid_parts(study, of.teacher, of.task)},
        settings,
        names,
        stamped=True,
    )
    yield Rule(
        "fit_teacher_head",
        {"model": directory(model.replace("{task}", "{corpus}"))},
        {"blocks": lambda of: plan.blocks(of.teacher, of.corpus), **begins},
        {"settings": plan.at("teacher_heads", "teacher", "corpus")},
        names,
    )


def _distilled_on_tasks(plan: Plan, divided: dict[str, int]) -> Iterator[Rule]:
    inputs = {
        "encoded": lambda of: plan.encoded(of.student, of.task),
        "teacher": lambda of: plan.teacher(of.student, of.task),
        "model": lambda of: plan.pretrained_folder(of.student),
        "tokenizer": lambda of: plan.tokenizer_folder(of.student),
        "parent": lambda of: plan.parent(of.student),
    }

    def stores_activations(wildcards: Wildcards, output: Any) -> bool:
        return plan.stores_activations(wildcards.student, wildcards.task)

    more = {"stores_activations": stores_activations}  # reads `output`, so that another value re-runs nothing
    yield Rule(
        "run_grid_on_task",
        {"trials": TRIALS},
        inputs,
        {"settings": plan.at("distillations", "student", "task"), **more},
        {"student": matching(plan.task_specific), **PARTS},
    )
    inputs = {**inputs, "trials": lambda of: grid_parts(plan.study, of.student, of.task)}
    yield from _trainings(plan, "distill_on_task", inputs, "distillations", plan.task_specific, divided, more)


def _distilled_on_corpora(plan: Plan, companions: dict[str, list[str]]) -> Iterator[Rule]:
    """Yield the rules of task-agnostic students: distilled alone or with companions, then saved.

    A student has the same inputs in both, and the settings are no params that Snakemake compares (as they read
    `output`), so a student that has other companions than before is not distilled again. `save_student` has its
    settings as params: if they change, it asks for the student anew.
    """
    folder, inputs = "results/distilled/{student}", inputs_of(plan)
    grouped = {student for students in companions.values() for student in students}

    def settings(students: Iterable[str]) -> dict[str, Any]:
        return {name: plan.settings.students[name].as_json() for name in students}

    yield Rule(
        "distill_student",
        {"folders": [temp(directory(folder))]},
        inputs,
        {"settings": lambda wildcards, output: settings([wildcards.student])},
        {"student": matching(set(plan.task_agnostic) - grouped)},
    )
    for label, students in companions.items():
        first = SimpleNamespace(student=students[0])
        yield Rule(
            "distill_together",
            {"folders": [temp(directory(folder.format(student=student))) for student in students]},
            {name: lambda wildcards, give=give, of=first: give(of) for name, give in inputs.items()},
            {"settings": lambda wildcards, output, students=students: settings(students)},
            label=label,
            students=tuple(students),
            script="distill_student",
        )
    yield Rule(
        "save_student",
        {"model": directory("results/students/{student}/model")},
        {"folder": folder},
        {"settings": plan.at("students", "student")},
        {"student": matching(plan.task_agnostic)},
    )


def _fine_tuned(plan: Plan, divided: dict[str, int]) -> Iterator[Rule]:
    begins = {
        "student": "results/students/{student}/model",
        "encoded": lambda of: plan.encoded(of.student, of.task),
    }
    yield Rule(
        "run_grid",
        {"trials": TRIALS},
        begins,
        {"settings": plan.at("grids", "student", "task")},
        {"student": matching(plan.task_agnostic), **PARTS},
    )
    inputs = {**begins, "trials": lambda of: grid_parts(plan.study, of.student, of.task)}
    yield from _trainings(plan, "finetune_student", inputs, "finetunings", plan.task_agnostic, divided)
    yield Rule(
        "profile_student",
        {"profile": "results/profiles/{student}.json"},
        {"model": lambda of: plan.pretrained_folder(of.student)},
        {"settings": plan.at("profiles", "student")},
        stamped=True,
    )
    yield Rule("bench_gpu", {"measured": "results/bench/gpu.json"})


def _trainings(
    plan: Plan,
    kind: str,
    inputs: dict[str, Any],
    job_type: str,
    students: list[str],
    divided: dict[str, int],
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Rule]:
    """Yield the rules of trainings on tasks, one for each set of seeds that a job trains.

    Their outputs are scores, answers, and weights if they are kept. `reads_weights`, the seeds whose weights are read,
    reads `output`, so that another value never makes a job run again.
    """

    def reads_weights(wildcards: Wildcards, output: Any) -> list[int]:
        return read_weights(plan, wildcards.student, wildcards.task)

    for seeds, names in students_by_seeds(plan, students, divided).items():
        scores = [SCORE.replace("{seed}", str(seed)) for seed in seeds]
        weights = [plan.kept(f"results/students/{{student}}/{{task}}/seed-{seed}") for seed in seeds]
        yield Rule(
            kind,
            {
                "scores": scores,
                "answers": list(map(answers_address, scores)),
                **({"weights": weights} if plan.keeps else {}),
            },
            inputs,
            {"settings": plan.at(job_type, "student", "task"), "reads_weights": reads_weights, **more},
            {"student": matching(names)},
            label="-".join(map(str, seeds)),
            seeds=seeds,
            stamped=True,
        )


def _submissions(plan: Plan) -> Iterator[Rule]:
    """Yield the rules of answers on test sets whose labels only a server has.

    Tables ask for these files at scale 'paper'. At other scales they are made only when the user asks for them by name.
    """
    tasks = plan.study.tasks
    yield Rule(
        "encode_test",
        {"folder": directory("results/test_sets/{task}/{tokenizer}")},
        {
            "sources": lambda of: list(map(source_folder, submitted_sources(tasks[of.task]))),
            "tokenizer": lambda of: plan.model_folder(of.tokenizer),
        },
        {"settings": plan.at("test_sets", "tokenizer", "task")},
        script="encode_task",
    )
    yield Rule(
        "predict_test",
        {"answers": "results/answers/{student}/seed-{seed}/{task}.json"},
        {
            "encoded": lambda of: f"results/test_sets/{of.task}/{plan.tokenizer_of(of.student)}",
            "weights": lambda of: _sent_weights(plan, of),
        },
        {"settings": plan.at("predictions", "task")},
        {"seed": NUMBER},
    )
    yield Rule(
        "write_submission",
        {"zip": "reports/submissions/{student}/seed-{seed}.zip"},
        {"answers": lambda of: _answers(plan, of)},
        {"settings": plan.at("submission")},
        {"seed": NUMBER},
    )


def read_weights(plan: Plan, student: str, task: str) -> list[int]:
    """Return the seeds of a student on a task whose weights are read: by the user, or to answer test sets."""
    if plan.config.keep_weights:
        return seeds_of(plan.study, student)
    answers = plan.sends and task in plan.settings.predictions
    return [seed for name, seed in plan.sent if name == student] if answers else []


def _sent_weights(plan: Plan, of: Wildcards) -> str:
    """Return the weights of a student or teacher that is fine-tuned on a task.

    Raises:
        RetortError: the weights of the student are not kept.
    """
    if of.student in plan.study.teachers:
        return f"results/teachers/{of.student}/{of.task}/model"
    if not plan.keeps:
        raise RetortError(f"the weights of '{of.student}' on '{of.task}' are not kept", "set keep_weights: true")
    return f"results/students/{of.student}/{of.task}/seed-{of.seed}"


def _answers(plan: Plan, of: Wildcards) -> list[str]:
    """Return the answers of a student or teacher on the test sets of every task that it is scored on.

    Raises:
        RetortError: it is scored on no task that has a submission.
    """
    tasks = [task for task in sorted(plan.settings.predictions) if (of.student, task) in plan.pairs]
    if not tasks:
        raise RetortError(f"'{of.student}' is scored on no task that has a submission", "see `retort list`")
    return [f"results/answers/{of.student}/seed-{of.seed}/{task}.json" for task in tasks]
