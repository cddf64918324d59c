"""The study, the cells and the settings that every rule reads; names that wildcards may have."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow"))

from retort.plan import frozen
from retort.plan.fetching import link_moved_folders
from retort.plan.scale_guard import guard_scale
from retort.plan.source_check import check_sources_available
from retort.errors import RetortError
from retort.specs.config import read_config
from retort.jobs import ignore_script_times, share_package
from retort.plan.plan import Plan
from retort.study.cells import answers_address

share_package()
ignore_script_times()
try:
    if not workflow.is_main_process:  # a job on another machine
        config.update(frozen.of_this_run())
    checked = read_config(config)
    planned = frozen.Frozen.of(config, checked)
    plan = Plan(checked)
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
        link_moved_folders(plan.study)
        planned.keep()
    except RetortError as error:
        raise WorkflowError(str(error)) from None


wildcard_constraints:
    task=plan.pattern(plan.study.tasks),
    corpus=plan.pattern(plan.study.corpora),
    teacher=plan.pattern(plan.study.teachers),
    tokenizer=plan.pattern(plan.study.tokenizers),
    source=plan.pattern(plan.study.sources),
    paper=plan.pattern(plan.study.papers),
    student=r"[A-Za-z0-9-]+",
    table=r"table[a-z0-9-]*",
    figure=r"figure[a-z0-9-]*",
    seed=r"\d+",
