"""The rules of the workflow, which Snakemake, the cost model and rehearsals read here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from snakemake.io import ancient, directory, report, temp

from retort.plan.companion_groups import Companions
from retort.plan.exhibits import ExhibitParams, Exhibits, Pages
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.plan.seeds_of_jobs import SeedJobs
from retort.plan.submissions import Submit
from retort.study.cells import answers_address

Wildcards = Any

NUMBER, TABLE, FIGURE = r"\d+", "table[a-z0-9-]*", "figure[a-z0-9-]*"
FIRST = 100  # the priority of jobs behind the first table
SCORE = "results/scores/{student}/{task}/seed-{seed}.json"


class Rules(Mapping[str, Rule]):
    """The rules of a plan by their names in Snakemake; `rule_of` looks them up by the files that they make.

    Args:
        plan: the plan.
        companions: the students that are distilled side by side.
        seed_jobs: which seeds of a student are trained in one job.
    """

    def __init__(self, plan: Plan, companions: Companions, seed_jobs: SeedJobs) -> None:
        self.plan, self.companions, self.seed_jobs = plan, companions, seed_jobs
        self.exhibits, self.params = Exhibits(plan), ExhibitParams(plan.study)
        self.submit, self.pages = Submit(plan), Pages(plan)
        parts = (self._data, self._teachers, self._students, self._submissions, self._exhibits, self._pages)
        self.by_name = {rule.name: rule for give in parts for rule in give()}
        self._by_folder: dict[str, list[tuple[Rule, re.Pattern[str]]]] = {}
        for rule in self.by_name.values():
            for path, pattern in zip(rule.paths, rule.patterns, strict=True):
                self._by_folder.setdefault(_folder(path), []).append((rule, pattern))

    def __getitem__(self, name: str) -> Rule:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    @property
    def constraints(self) -> dict[str, str]:
        """Wildcard -> regular expression, for all rules."""
        pattern, study = self.plan.pattern, self.plan.study
        return {
            "task": pattern(study.tasks),
            "corpus": pattern(study.corpora),
            "tokenizer": pattern(study.tokenizers),
            "paper": pattern(study.papers),
            "student": "[A-Za-z0-9-]+",
        }

    def of_kind(self, kind: str) -> list[Rule]:
        """Return the rules of a kind."""
        return [rule for rule in self.by_name.values() if rule.kind == kind]

    def rule_of(self, path: str) -> tuple[Rule, SimpleNamespace] | None:
        """Return the rule that makes a file or folder, and the wildcards; None for a file of the study."""
        for rule, pattern in self._by_folder.get(_folder(path), []):
            if match := pattern.fullmatch(path):
                return rule, SimpleNamespace(**match.groupdict())
        return None

    def priority(self, rule: Rule) -> Callable[[Wildcards], int]:
        """Return a function from wildcards to the priority of a job: what the first table needs comes first."""
        return lambda wildcards: FIRST if rule.log.format(**dict(wildcards.items())) in self._first else 0

    @cached_property
    def _first(self) -> set[str]:
        """The logs, by which jobs are known, of the jobs behind the first table."""
        logs, paths = set[str](), list(self.pages.first)
        while paths:
            if found := self.rule_of(paths.pop()):
                rule, wildcards = found
                log = rule.key(wildcards)
                if log not in logs:
                    logs.add(log)
                    paths += rule.needs(wildcards)
        return logs

    def _data(self) -> Iterator[Rule]:
        plan, parts = self.plan, {"part": NUMBER, "parts": NUMBER}
        source = {"folder": directory("results/sources/{source}")}
        settings = {"settings": plan.at("sources/{source}")}
        yield Rule("fetch_source", source, {}, settings, {"source": plan.pattern(plan.fetched)})
        yield Rule("make_source", source, {}, settings, {"source": plan.pattern(plan.made)})
        yield Rule(
            "encode_task",
            {"folder": directory("results/encoded/{task}/{tokenizer}")},
            {"sources": plan.task_source, "tokenizer": plan.tokenizer_folder},
            {"settings": plan.at("tasks/{tokenizer}/{task}")},
        )
        corpus = {"sources": plan.corpus_sources, "tokenizer": plan.tokenizer_folder}
        settings = {"settings": plan.at("corpora/{tokenizer}/{corpus}")}
        tokens = temp(directory("results/tokenized/{corpus}/{tokenizer}/{part}-of-{parts}"))
        yield Rule("tokenize_corpus", {"folder": tokens}, corpus, settings, parts)
        blocks = {"folder": directory("results/corpora/{corpus}/{tokenizer}")}
        yield Rule("build_corpus", blocks, {**corpus, "parts": plan.corpus_parts}, settings)

    def _teachers(self) -> Iterator[Rule]:
        plan = self.plan
        begins = {"model": plan.teacher_model, "tokenizer": plan.teacher_tokenizer}
        names = {
            "teacher": plan.pattern(plan.study.teachers),
            "task": plan.pattern(plan.study.tasks),
            "corpus": plan.pattern(plan.study.corpora),
        }
        yield Rule(
            "finetune_teacher",
            {
                "score": plan.teacher_score,
                "answers": answers_address(plan.teacher_score),
                "model": directory("results/teachers/{teacher}/{task}/model"),
            },
            {"encoded": plan.teacher_encoded, **begins},
            {"settings": plan.at("teachers/{teacher}/{task}")},
            names,
            settings=lambda of: plan.settings.teachers[of.teacher][of.task],
        )
        yield Rule(
            "fit_teacher_head",
            {"model": directory("results/teachers/{teacher}/{corpus}/model")},
            {"blocks": plan.teacher_blocks, **begins},
            {"settings": plan.at("teacher_heads/{teacher}/{corpus}")},
            names,
        )
        yield Rule(
            "record_activations",
            {"folder": directory("results/activations/{teacher}/{task}")},
            {"encoded": plan.teacher_encoded, "teacher": "results/teachers/{teacher}/{task}/model"},
            {"settings": plan.at("activations/{teacher}/{task}")},
            names,
        )

    def _students(self) -> Iterator[Rule]:
        yield from self._distilled_on_tasks()
        yield from self._distilled_on_corpora()
        yield from self._fine_tuned()
        plan = self.plan
        yield Rule(
            "profile_student",
            {"profile": "results/profiles/{student}.json"},
            {"model": plan.profile_model},
            {"settings": plan.at("profiles/{student}")},
            settings=lambda of: plan.settings.profiles[of.student],
        )

    def _distilled_on_tasks(self) -> Iterator[Rule]:
        plan = self.plan
        for seeds, students in self.seed_jobs.of(plan.task_specific).items():
            yield Rule(
                "distill_on_task",
                self._scored(seeds),
                {
                    "encoded": plan.student_encoded,
                    "teacher": plan.student_teacher,
                    "model": plan.student_model,
                    "tokenizer": plan.student_tokenizer,
                    "parent": plan.student_parent,
                    "activations": plan.student_activations,
                },
                {"settings": plan.at("distillations/{student}/{task}"), "reads_weights": self._reads_weights},
                {"student": plan.pattern(students)},
                label="-".join(map(str, seeds)),
                seeds=seeds,
                settings=lambda of: plan.settings.distillations[of.student][of.task],
            )

    def _distilled_on_corpora(self) -> Iterator[Rule]:
        """Yield the rules of task-agnostic students: distilled alone or side by side, then saved.

        A student has the same inputs in both, and the settings are no params that Snakemake compares (as they read
        `output`), so a student that has other companions than before is not distilled again. `save_student` has its
        settings as params: if they change, it asks for the student anew.
        """
        plan, companions, folder = self.plan, self.companions, "results/distilled/{student}"
        alone = [name for name in plan.task_agnostic if name not in companions.grouped]
        yield Rule(
            "distill_student",
            {"folders": [temp(directory(folder))]},
            companions.inputs,
            {"settings": lambda wildcards, output: companions.settings([wildcards.student])},
            {"student": plan.pattern(alone)},
        )
        for label, students in companions.groups.items():
            yield Rule(
                "distill_together",
                {"folders": [temp(directory(folder.format(student=student))) for student in students]},
                {name: companions.of_first(students, give) for name, give in companions.inputs.items()},
                {"settings": lambda wildcards, output, students=students: companions.settings(students)},
                label=label,
                students=tuple(students),
                script="distill_student",
            )
        yield Rule(
            "save_student",
            {"model": directory("results/students/{student}/model")},
            {"folder": folder},
            {"settings": plan.at("students/{student}")},
            {"student": plan.pattern(plan.task_agnostic)},
        )

    def _fine_tuned(self) -> Iterator[Rule]:
        plan = self.plan
        begins = {"student": "results/students/{student}/model", "encoded": plan.student_encoded}
        agnostic = {"student": plan.pattern(plan.task_agnostic)}
        yield Rule(
            "run_grid",
            {"trials": "results/trials/{student}/{task}/{part}-of-{parts}.jsonl"},
            begins,
            {"settings": plan.at("grids/{student}/{task}")},
            {**agnostic, "part": NUMBER, "parts": NUMBER},
        )
        for seeds, students in self.seed_jobs.of(plan.task_agnostic).items():
            yield Rule(
                "finetune_student",
                self._scored(seeds),
                {**begins, "trials": plan.grid_parts},
                {"settings": plan.at("finetunings/{student}/{task}"), "reads_weights": self._reads_weights},
                {"student": plan.pattern(students)},
                label="-".join(map(str, seeds)),
                seeds=seeds,
                settings=lambda of: plan.settings.finetunings[of.student][of.task],
            )

    def _scored(self, seeds: tuple[int, ...]) -> dict[str, Any]:
        """Return the outputs of trainings under some seeds: scores, answers, and weights if they are kept."""
        scores = [SCORE.replace("{seed}", str(seed)) for seed in seeds]
        weights = [f"results/students/{{student}}/{{task}}/seed-{seed}" for seed in seeds]
        kept = {"weights": list(map(self.plan.kept, weights))} if self.plan.keeps else {}
        return {"scores": scores, "answers": list(map(answers_address, scores)), **kept}

    def _reads_weights(self, wildcards: Wildcards, output: Any) -> list[int]:
        """Return the seeds whose weights are read; as it reads `output`, another value never makes a job run again."""
        return self.submit.read_weights(wildcards)

    def _submissions(self) -> Iterator[Rule]:
        plan, submit = self.plan, self.submit
        yield Rule(
            "encode_test",
            {"folder": directory("results/test_sets/{task}/{tokenizer}")},
            {"sources": submit.sources, "tokenizer": plan.tokenizer_folder},
            {"settings": plan.at("test_sets/{tokenizer}/{task}")},
            script="encode_task",
        )
        yield Rule(
            "predict_test",
            {"answers": "results/answers/{student}/seed-{seed}/{task}.json"},
            {"encoded": submit.test_sets, "weights": submit.weights},
            {"settings": plan.at("predictions/{task}")},
            {"seed": NUMBER},
        )
        yield Rule(
            "write_submission",
            {"zip": "reports/submissions/{student}/seed-{seed}.zip"},
            {"answers": submit.answers},
            {"settings": plan.at("submission")},
            {"seed": NUMBER},
        )

    def _exhibits(self) -> Iterator[Rule]:
        exhibits, params = self.exhibits, self.params
        tidy, printed = "results/tables/{paper}/", "reports/{paper}/"
        table, figure = f"{tidy}{{table}}.csv", f"{tidy}{{figure}}.csv"
        yield Rule(
            "make_table",
            {
                "csv": table,
                "md": f"{printed}{{table}}.md",
                "tex": f"{printed}{{table}}.tex",
                "html": _shown(f"{printed}{{table}}.html", "tables", "table"),
            },
            {
                "table": exhibits.table_file,
                "scores": exhibits.table_scores,
                "profiles": exhibits.table_profiles,
                "submissions": self.submit.of_table,
            },
            {
                "compares": params.compares,
                "left_out": params.left_out_of_table,
                "verdicts": params.verdicts,
                "settings": params.settings,
            },
            {"table": TABLE},
        )
        yield Rule(
            "plot_figure",
            {
                "csv": figure,
                "svg": _shown(f"{printed}{{figure}}.svg", "figures", "figure"),
                "png": f"{printed}{{figure}}.png",
            },
            {
                "figure": exhibits.figure_file,
                "scores": exhibits.figure_scores,
                "profiles": exhibits.figure_profiles,
                "tables": exhibits.figure_tables,
            },
            {"left_out": params.left_out_of_figure},
            {"figure": FIGURE},
        )
        drawn = {"svg": _shown(f"{printed}{{table}}.svg", "verdicts", "table"), "png": f"{printed}{{table}}.png"}
        yield Rule("plot_verdicts", drawn, {"csv": table}, {}, {"table": TABLE})
        yield Rule(
            "check_claims",
            {"html": report(f"{printed}claims.html", category="{paper}"), "md": f"{printed}claims.md"},
            {"claims": exhibits.claims_files, "tables": exhibits.claim_tables},
        )

    def _pages(self) -> Iterator[Rule]:
        pages, ran = self.pages, self.plan.config.run_sources
        yield Rule(
            "make_page",
            {"page": "reports/{paper}/index.html"},
            {"files": pages.files, "rendered": pages.rendered, "claims": pages.claims},
            {"deviations": pages.deviations},
            {"paper": self.plan.pattern(self.plan.study.papers)},
        )
        yield Rule(
            "make_printed_pages",
            {"entries": "results/tables/printed.json", "pages": pages.printed},
            {"papers": pages.audited},
        )
        yield Rule("make_audit", {"page": "reports/audit.html"}, {"papers": pages.audited})
        yield Rule(
            "make_index",
            {"page": "reports/index.html"},
            {
                "papers": pages.papers,
                "tables": pages.tidy,
                "headlines": pages.headlines,
                "claims": pages.judged,
                "pages": ancient(pages.pages),
                "audit": ancient(pages.audit),
                "printed": pages.entries,
            },
            {"missing": ran.missing, "failed": ran.failures},
        )


def _shown(path: str, part: str, noun: str) -> Any:
    """Return an output that Snakemake's own report shows, in a part of its paper."""
    return report(path, category="{paper}", subcategory=part, labels={noun: f"{{{noun}}}"})


def _folder(path: str) -> str:
    """Return the beginning of a path without wildcards, by which rules are indexed: 'reports', 'results/scores', ..."""
    first, _, rest = path.partition("/")
    second = rest.partition("/")[0]
    return f"{first}/{second}" if first == "results" else first
