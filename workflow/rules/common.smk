"""The study, the cells and the settings that every rule reads; names that wildcards may have."""

from retort.plan.scale_guard import guard_scale
from retort.plan.source_check import check_sources_available
from retort.errors import RetortError
from retort.specs.config import read_config
from retort.jobs import share_package
from retort.plan.plan import Plan
from retort.study.cells import answers_address

share_package()
try:
    plan = Plan(read_config(config))
except RetortError as error:
    raise WorkflowError(str(error)) from None


onstart:  # of a run, not of a dry one
    fetched = {
        job.wildcards.source
        for job in workflow.dag.needrun_jobs()
        if job.rule.name == "fetch_source"
    }
    try:
        guard_scale(plan.study)
        check_sources_available(plan.study, fetched)
    except RetortError as error:
        raise WorkflowError(str(error)) from None


wildcard_constraints:
    task=plan.pattern(plan.study.tasks),
    corpus=plan.pattern(plan.study.corpora),
    teacher=plan.pattern(plan.study.teachers),
    model=plan.pattern(plan.study.models),
    source=plan.pattern(plan.study.sources),
    paper=plan.pattern(plan.study.papers),
    student=r"[A-Za-z0-9-]+",
    table=r"table[a-z0-9-]*",
    figure=r"figure[a-z0-9-]*",
    seed=r"\d+",
