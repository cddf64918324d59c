"""The rules of the workflow as the cost model knows them: which files each makes, and which it reads.

The rules themselves are in workflow/rules. A test compares the jobs that both give at every scale, and fails if a rule
is missing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from retort.plan.companions import Companions
from retort.plan.exhibits import Exhibits
from retort.plan.pages import Pages
from retort.plan.plan import Plan
from retort.plan.submissions import Submit
from retort.study.cells import answers_address

Wildcards = Any
Input = Callable[[Wildcards], Any]

WILDCARD = re.compile(r"{(\w+)}")
NAME = "[^/]+"
# as in workflow/rules/common.smk, where two rules make files in one folder
TABLE, FIGURE, NUMBER = "table[a-z0-9-]*", "figure[a-z0-9-]*", r"\d+"


@dataclass(frozen=True)
class Rule:
    """A rule: its outputs as paths with wildcards, and its input functions.

    Args:
        name: its name in workflow/rules.
        outputs: the paths; a job is done if the first one exists.
        inputs: functions from wildcards to a path, a list of paths, or paths by name.
        constraints: wildcard -> regular expression; other wildcards match any text without '/'.
    """

    name: str
    outputs: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    constraints: dict[str, str] | None = None

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """The paths as regular expressions, whose groups are the wildcards."""
        return [re.compile(self._expression(path)) for path in self.outputs]

    def _expression(self, path: str) -> str:
        seen: set[str] = set()

        def group(match: re.Match[str]) -> str:
            name = match[1]
            if name in seen:
                return f"(?P={name})"
            seen.add(name)
            return f"(?P<{name}>{(self.constraints or {}).get(name, NAME)})"

        parts = WILDCARD.split(path)  # text, name, text, name, ..., text
        escaped = "".join(re.escape(part) if index % 2 == 0 else f"{{{part}}}" for index, part in enumerate(parts))
        return WILDCARD.sub(group, escaped)

    def needs(self, wildcards: Wildcards) -> list[str]:
        """Return the paths that a job reads."""
        return [path for give in self.inputs for path in _paths(give(wildcards))]


def _paths(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    return value.values() if isinstance(value, dict) else value


class Rules:
    """The rules of a plan, looked up by the files that they make.

    Args:
        plan: the plan.
        companions: the students that are distilled side by side.
    """

    def __init__(self, plan: Plan, companions: Companions) -> None:
        models = [*_teachers(plan), *_students(plan, companions), *_submissions(plan)]
        rules = [*_data(plan), *models, *_exhibits(plan)]
        self.by_folder: dict[str, list[tuple[Rule, re.Pattern[str]]]] = {}
        for rule in rules:
            for path, pattern in zip(rule.outputs, rule.patterns, strict=True):
                self.by_folder.setdefault(_folder(path), []).append((rule, pattern))

    def rule_of(self, path: str) -> tuple[Rule, SimpleNamespace] | None:
        """Return the rule that makes a file or folder, and the wildcards; None for a file of the study."""
        for rule, pattern in self.by_folder.get(_folder(path), []):
            match = pattern.fullmatch(path)
            if match:
                return rule, SimpleNamespace(**match.groupdict())
        return None


def _folder(path: str) -> str:
    """Return the beginning of a path without wildcards, by which rules are indexed: 'reports', 'results/scores', ..."""
    first, _, rest = path.partition("/")
    second = rest.partition("/")[0]
    return f"{first}/{second}" if first == "results" else first


def _data(plan: Plan) -> list[Rule]:
    numbers = {"part": NUMBER, "parts": NUMBER}
    source = ("results/sources/{source}",)
    tokenized = "results/tokenized/{corpus}/{tokenizer}/{part}-of-{parts}"
    sources, corpus = (plan.task_source, plan.tokenizer_folder), (plan.corpus_sources, plan.tokenizer_folder)
    return [
        Rule("fetch_source", source, (), {"source": plan.pattern(plan.fetched)}),
        Rule("make_source", source, (), {"source": plan.pattern(plan.made)}),
        Rule("encode_task", ("results/encoded/{task}/{tokenizer}",), sources),
        Rule("tokenize_corpus", (tokenized,), corpus, numbers),
        Rule("build_corpus", ("results/corpora/{corpus}/{tokenizer}",), (*corpus, plan.corpus_parts)),
    ]


def _teachers(plan: Plan) -> list[Rule]:
    of_teacher = {
        "teacher": plan.pattern(plan.study.teachers),
        "task": plan.pattern(plan.study.tasks),
        "corpus": plan.pattern(plan.study.corpora),
    }

    def fine_tuned(wildcards: Wildcards) -> str:
        return f"results/teachers/{wildcards.teacher}/{wildcards.task}/model"

    score = (plan.teacher_score, answers_address(plan.teacher_score))
    teacher = (*score, "results/teachers/{teacher}/{task}/model")
    read = (plan.teacher_encoded, plan.teacher_model, plan.teacher_tokenizer)
    head = (plan.teacher_blocks, plan.teacher_model, plan.teacher_tokenizer)
    return [
        Rule("finetune_teacher", teacher, read, of_teacher),
        Rule("fit_teacher_head", ("results/teachers/{teacher}/{corpus}/model",), head, of_teacher),
        Rule("record_activations", ("results/activations/{teacher}/{task}",), (plan.teacher_encoded, fine_tuned)),
    ]


def _students(plan: Plan, companions: Companions) -> list[Rule]:
    model, score = "results/students/{student}/model", "results/scores/{student}/{task}/seed-{seed}.json"
    scored = (score, answers_address(score), "results/students/{student}/{task}/seed-{seed}")
    specific, agnostic = ({"student": plan.pattern(names)} for names in (plan.task_specific, plan.task_agnostic))
    begins = (plan.student_model, plan.student_tokenizer, plan.student_parent)

    def distilled(wildcards: Wildcards) -> str:
        return model.format(student=wildcards.student)

    parts = "results/trials/{student}/{task}/{part}-of-{parts}.jsonl"
    on_task = (plan.student_encoded, plan.student_teacher, plan.student_activations, *begins)
    on_corpus = (plan.student_corpora, plan.student_teacher_head, *begins, companions.before)
    side_by_side = (companions.corpora, companions.teacher, companions.model, companions.tokenizer, companions.parents)
    tuned = (distilled, plan.student_encoded)
    return [
        Rule("distill_on_task", scored, on_task, specific),
        Rule("distill_student", (model,), on_corpus, agnostic),
        Rule("distill_together", ("results/together/{companions}.done",), side_by_side),
        Rule("run_grid", (parts,), tuned, {"part": NUMBER, "parts": NUMBER}),
        Rule("finetune_student", scored, (*tuned, plan.grid_parts), agnostic),
        Rule("profile_student", ("results/profiles/{student}.json",), (plan.profile_model,)),
    ]


def _submissions(plan: Plan) -> list[Rule]:
    submit = Submit(plan)
    tested = (submit.test_sets, submit.weights)
    return [
        Rule("encode_test", ("results/test_sets/{task}/{tokenizer}",), (submit.sources, plan.tokenizer_folder)),
        Rule("predict_test", ("results/answers/{student}/seed-{seed}/{task}.json",), tested),
        Rule("write_submission", ("reports/submissions/{student}/seed-{seed}.zip",), (submit.answers,)),
    ]


def _exhibits(plan: Plan) -> list[Rule]:
    exhibits, submit, pages = Exhibits(plan), Submit(plan), Pages(plan)
    report, tidy = "reports/{paper}/", "results/tables/{paper}/"
    table = (f"{tidy}{{table}}.csv", *(f"{report}{{table}}.{ending}" for ending in ("md", "tex", "html")))
    figure = (f"{tidy}{{figure}}.csv", f"{report}{{figure}}.svg", f"{report}{{figure}}.png")
    drawn = (exhibits.figure_scores, exhibits.figure_profiles, exhibits.figure_tables)
    index = (lambda _: pages.tidy, lambda _: pages.headlines, lambda _: pages.judged, lambda _: pages.pages)

    def collected(wildcards: Wildcards) -> str:
        return f"results/tables/{wildcards.paper}/{wildcards.table}.csv"

    tables, figures = {"table": TABLE}, {"figure": FIGURE}
    return [
        Rule("make_table", table, (exhibits.table_scores, exhibits.table_profiles, submit.of_table), tables),
        Rule("plot_figure", figure, drawn, figures),
        Rule("plot_verdicts", (f"{report}{{table}}.svg", f"{report}{{table}}.png"), (collected,), tables),
        Rule("check_claims", (f"{report}claims.html", f"{report}claims.md"), (exhibits.claim_tables,)),
        Rule("make_printed_pages", (*pages.printed, "results/tables/printed.json")),
        Rule("make_page", (f"{report}index.html",), (pages.rendered, pages.claims)),
        Rule("make_audit", ("reports/audit.html",)),
        Rule("make_index", ("reports/index.html",), (*index, lambda _: pages.audit, lambda _: pages.entries)),
    ]
