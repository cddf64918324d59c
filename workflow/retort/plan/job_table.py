"""The rules of workflow/rules once more, as a table: costs, budgets and rehearsals find jobs in it without Snakemake.

A test holds it to the rules: the same outputs, inputs, params and constraints.
"""

from __future__ import annotations

from retort.plan.exhibits import FIGURE, TABLE, Prints
from retort.plan.plan import Plan
from retort.plan.reads import InputFunctions
from retort.plan.rule import Input, Rule, one_of
from retort.plan.shared_activations import settings_of_activations
from retort.plan.sharing import settings_of_group
from retort.study.addresses import SEEDS

Inputs = dict[str, Input]
NUMBER = r"\d+"
PARTS = {"part": NUMBER, "parts": NUMBER}
SCORES = "results/scores/{student}/{task}/{seeds}"
CSVS, REPORTS = "results/tables/{paper}/", "reports/{paper}/"
RENDERED, DRAWN = ("md", "tex", "html"), ("svg", "png")
TRIALS = "results/trials/{student}/{task}/{part}-of-{parts}.jsonl"


def rules_of(plan: Plan) -> list[Rule]:
    """Return the rules of a plan."""
    reads = InputFunctions(plan)
    return [*_of_data(plan, reads), *_of_models(plan, reads), *_of_pages(plan, reads)]


def _of_data(plan: Plan, reads: InputFunctions) -> list[Rule]:
    study = plan.study
    made = {name for name, source in study.sources.items() if source.location(plan.config) == "made"}
    source = {"folder": "results/sources/{source}"}
    tokenizer: Inputs = {"tokenizer": reads.files_of_tokenizer}
    of_corpus: Inputs = {"sources": reads.sources_of_corpus, **tokenizer}
    return [
        Rule("fetch_source", source, {}, _stamp(plan, "sources", "source"),
             {"source": one_of(study.sources.keys() - made)}),
        Rule("make_source", source, {}, _stamp(plan, "sources", "source"), {"source": one_of(made)}),
        Rule("encode_task", {"folder": "results/encoded/{task}/{tokenizer}"},
             {"sources": reads.sources_of_task, **tokenizer}, _stamp(plan, "tasks", "tokenizer", "task")),
        Rule("tokenize_corpus", {"folder": "results/tokenized/{corpus}/{tokenizer}/{part}-of-{parts}"},
             of_corpus, _stamp(plan, "corpora", "tokenizer", "corpus"), PARTS),
        Rule("build_corpus", {"folder": "results/corpora/{corpus}/{tokenizer}"},
             {**of_corpus, "parts": reads.tokenized_parts}, _stamp(plan, "corpora", "tokenizer", "corpus")),
        Rule("encode_test", {"folder": "results/test_sets/{task}/{tokenizer}"},
             {"sources": reads.sources_of_test_sets, **tokenizer}, _stamp(plan, "test_sets", "tokenizer", "task"),
             script="encode_task"),
    ]  # fmt: skip


def _of_models(plan: Plan, reads: InputFunctions) -> list[Rule]:
    study, specific, agnostic = plan.study, plan.alone(plan.task_specific), plan.alone(plan.task_agnostic)
    teacher = {"teacher": plan.alone(study.teachers), "task": one_of(study.tasks), "corpus": one_of(study.corpora)}
    begins: Inputs = {"model": reads.released_model, "tokenizer": reads.tokenizer}
    of_teacher: Inputs = {"encoded": reads.encoded_task, **begins}
    on_task: Inputs = {"encoded": reads.encoded_task, "teacher": reads.finetuned_teacher, **begins}
    on_task["parent"] = reads.parent
    tuned: Inputs = {"student": "results/students/{student}/model", "encoded": reads.encoded_task}
    grid: Inputs = {"trials": reads.grid}
    trained = {"reads_weights": plan.reads_weights}
    scored = {"scores": f"{SCORES}.json", "answers": f"{SCORES}.answers.json"}
    by_teacher = {name: path.replace("{student}", "{teacher}") for name, path in scored.items()}
    scored |= {"weights": "results/students/{student}/{task}/{seeds}"} if plan.keeps else {}
    return [
        Rule("run_grid_of_teacher", {"trials": TRIALS.replace("{student}", "{teacher}")}, of_teacher,
             _stamp(plan, "teachers", "teacher", "task"), {**teacher, **PARTS}),
        Rule("finetune_teacher", {**by_teacher, "model": "results/teachers/{teacher}/{task}/{seeds}"},
             {**of_teacher, **grid}, _stamp(plan, "teachers", "teacher", "task"), {**teacher, "seeds": NUMBER}),
        Rule("fit_teacher_head", {"model": "results/teachers/{teacher}/{corpus}/model"},
             {"blocks": reads.blocks_of_teacher, **begins},
             _stamp(plan, "teacher_heads", "teacher", "corpus"), teacher),
        Rule("record_activations", {"folder": "results/activations/{teacher}/{task}/{number}"},
             {"encoded": reads.encoded_task, "teacher": reads.teacher_on_task},
             {"settings": settings_of_activations(plan)}, {**teacher, "number": NUMBER}),
        Rule("run_grid_on_task", {"trials": TRIALS}, {**on_task, "activations": reads.activations_of_grid},
             _stamp(plan, "distillations", "student", "task"), {"student": specific, **PARTS}),
        Rule("distill_on_task", scored, {**on_task, "activations": reads.activations_of_seeds, **grid},
             {**trained, **_stamp(plan, "distillations", "student", "task")}, {"student": specific, "seeds": SEEDS}),
        Rule("distill_students", {"folder": "results/distilled/{group}"},
             {"corpora": reads.blocks_of_group, "teacher": reads.teacher_of_group,
              "model": reads.released_model_of_group, "tokenizer": reads.tokenizer_of_group,
              "parent": reads.parent_of_group}, {"settings": settings_of_group(plan)}),
        Rule("save_student", {"model": "results/students/{student}/model"}, {"folder": reads.distilled_group},
             _stamp(plan, "students", "student"), {"student": agnostic}),
        Rule("run_grid", {"trials": TRIALS}, tuned,
             _stamp(plan, "grids", "student", "task"), {"student": agnostic, **PARTS}),
        Rule("finetune_student", scored, {**tuned, **grid},
             {**_stamp(plan, "finetunings", "student", "task"), **trained}, {"student": agnostic, "seeds": SEEDS}),
        Rule("profile_student", {"profile": "results/profiles/{student}.json"}, {"model": reads.released_model},
             _stamp(plan, "profiles", "student")),
        Rule("bench_gpu", {"measured": "results/bench/gpu.json"}),
        Rule("predict_test", {"answers": "results/answers/{student}/seed-{seed}/{task}.json"},
             {"encoded": reads.encoded_test_sets, "weights": reads.finetuned_weights},
             _stamp(plan, "predictions", "task"), {"seed": NUMBER}),
        Rule("write_submission", {"zip": "reports/submissions/{student}/seed-{seed}.zip"},
             {"answers": reads.answers_to_send}, _stamp(plan, "submission"), {"seed": NUMBER}),
    ]  # fmt: skip


def _of_pages(plan: Plan, reads: InputFunctions) -> list[Rule]:
    prints, ran = Prints(plan), plan.config.run_sources
    code: dict[str, object] = {"code": prints.code}
    page = {**code, "contact": plan.config.contact}
    return [
        Rule("make_table", {"csv": f"{CSVS}{{table}}.csv", **{end: f"{REPORTS}{{table}}.{end}" for end in RENDERED}},
             {"table": reads.file_of_table, "scores": reads.scores_of_table, "profiles": reads.profiles_of_table,
              "trials": reads.trials_of_table, "submissions": reads.submissions_of_table,
              "recorded": reads.records_next_to_table},
             {**code, "compares": prints.compares, "left_out": prints.left_out_of_table, "verdicts": prints.verdicts,
              "settings": prints.shown_settings, "scale": prints.scale}, {"table": TABLE}),
        Rule("plot_figure", {"csv": f"{CSVS}{{figure}}.csv", **{end: f"{REPORTS}{{figure}}.{end}" for end in DRAWN}},
             {"figure": reads.file_of_figure, "scores": reads.scores_of_figure, "profiles": reads.profiles_of_figure,
              "tables": reads.tables_of_figure}, {**code, "left_out": prints.left_out_of_figure, "scale": prints.scale},
             {"figure": FIGURE}),
        Rule("check_claims",
             {"html": f"{REPORTS}claims.html", "md": f"{REPORTS}claims.md", "judged": f"{CSVS}claims.json"},
             {"claims": reads.files_of_claims, "tables": reads.tables_of_claims}, code),
        Rule("make_page", {"page": f"{REPORTS}index.html"},
             {"files": reads.files_of_page, "rendered": reads.exhibits_on_page, "claims": reads.claims_on_page},
             {**page, "deviations": prints.deviations}, {"paper": one_of(plan.study.papers)}),
        Rule("make_audit", {"page": "reports/audit.html"}, {"papers": reads.files_of_audit}, page),
        Rule("make_index", {"page": "reports/index.html"},
             {"files": reads.files_of_index, "tables": reads.tables_of_index, "headlines": reads.headlines,
              "claims": reads.claims_of_index, "pages": reads.pages_of_papers, "audit": reads.page_of_audit},
             {**page, "missing": ran.missing, "failed": ran.failures}),
    ]  # fmt: skip


def _stamp(plan: Plan, *names: str) -> dict[str, object]:
    """Return the params of a rule whose settings are found by these names, see `Plan.at`."""
    return {"settings": plan.at(*names)}
