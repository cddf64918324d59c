"""The book, the cells and the settings that every rule reads; names that wildcards may have."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow"))

from retort.apart import keep_apart
from retort.data.reach import check_reach
from retort.errors import RetortError
from retort.specs.config import read_config
from retort.jobs import share_package
from retort.plan import Plan
from retort.specs.expand import answers_address

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
        keep_apart(plan.book)
        check_reach(plan.book, fetched)
    except RetortError as error:
        raise WorkflowError(str(error)) from None


wildcard_constraints:
    task=plan.pattern(plan.book.tasks),
    corpus=plan.pattern(plan.book.corpora),
    teacher=plan.pattern(plan.book.teachers),
    model=plan.pattern(plan.book.models),
    source=plan.pattern(plan.book.sources),
    paper=plan.pattern(plan.book.papers),
    student=r"[A-Za-z0-9-]+",
    table=r"table[a-z0-9-]*",
    figure=r"figure[a-z0-9-]*",
    seed=r"\d+",
