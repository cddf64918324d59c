"""The study, the cells and the settings that every rule reads; names that wildcards may have."""

from retort.plan import frozen
from retort.plan.scale_guard import guard_scale
from retort.plan import (
    failed_groups,
    failed_jobs,
    retries,
    run_sources,
    slurm_defaults,
    slurm_status,
    slurm_step,
    slurm_submit,
    slurm_turns,
)
from retort.errors import RetortError
from retort.specs.config import read_config
from retort.run_hooks import (
    ignore_script_times,
    ignore_stamps,
    keep_going,
    pass_signals_on,
    remove_activations,
    remove_kept_results,
    share_package,
    start_forkserver,
    start_forkserver_on_node,
)
from retort.plan.companions import Companions
from retort.plan.plan import Plan
from retort.plan.scheduling import (
    expect_early,
    make_first,
    run_hooks_of_module,
    start_at_once,
)
from retort.cost.resources import JobResources
from retort.cost.side_by_side import fits_one_job
from retort.run_config import of_this_run
from retort.study.cells import answers_address

share_package()
if not workflow.is_main_process:
    decide = run_sources.of_this_run
elif failed_jobs.are_known(config):  # a second run, which makes the pages after a run with failures
    decide = None
elif workflow.output_settings.dryrun:
    decide = run_sources.without_asking
else:
    decide = run_sources.with_answers_of_the_hub
ignore_script_times()
slurm_status.adapt_plugin()
slurm_step.adapt_plugin()
slurm_submit.adapt_plugin()
ignore_stamps()
try:
    if not workflow.is_main_process:  # a job on another machine
        keep_going()
        pass_signals_on()
        start_forkserver_on_node(slurm_step.jobs_in_turn())
        config.update(of_this_run())
    plan = Plan(read_config(config, origins=origins), decide)
    if workflow.is_main_process:
        plan.settings.resolve_all()
    companions = Companions(plan, lambda: workflow.dag_settings.targets, fits_one_job(plan))
    needs = JobResources(plan, companions)
    slurm_defaults.add_defaults(workflow.resource_settings, plan.config, needs.cluster)
    slurm_turns.limit_jobs(workflow, needs.cluster)
except RetortError as error:
    raise WorkflowError(str(error)) from None
config["run_sources"] = plan.config.run_sources.model_dump(mode="json")  # for the scripts
if workflow.is_main_process:
    planned = frozen.Frozen.of(config, plan.config)


onstart:  # not in dry runs, nor in jobs on a cluster: imports here do not slow down their start
    from retort.plan.fetching import link_moved_folders

    fetched = {
        job.wildcards.source
        for job in workflow.dag.needrun_jobs()
        if job.rule.name == "fetch_source"
    }
    try:
        guard_scale(plan.study)
        run_sources.begin(plan.study, fetched)
        link_moved_folders(plan.study)
        planned.with_decisions(companions=companions.groups).keep()
        make_first(workflow.dag, pages.first)
        if expect_early(workflow.dag, "make_index"):
            from retort.report.index import begin_index

            begin_index(plan.study)
        start_at_once(workflow.scheduler)
        retries.adapt_snakemake()
        failed_groups.adapt_snakemake()
        slurm_turns.check_groups(workflow.dag, needs.cluster)
        if workflow.local_exec:
            start_forkserver(len(list(workflow.dag.needrun_jobs())))
    except RetortError as error:
        raise WorkflowError(str(error)) from None


onsuccess:
    if not plan.config.keep_activations:
        remove_activations()
    remove_kept_results(workflow.dag)
    # a run of everything ends with an error if it had to leave something out
    missing = plan.config.run_sources.missing
    if missing and any(job.rule.name == "all" for job in workflow.dag.jobs):
        raise WorkflowError(run_sources.summary(missing))


onerror:  # make tables, pages and the index without what failed
    failed_jobs.make_pages(workflow, config)


if (
    not workflow.modifier.is_main_snakefile()
):  # used as a module: Snakemake does not run the hooks of modules
    run_hooks_of_module(workflow)


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
