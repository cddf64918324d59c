"""The plan of the study, which every rule reads; what is done when a run begins and ends."""

import contextlib
import gc
import inspect
import sys
from pathlib import Path

gc.disable()  # until the plan is made: all of it stays, and to look for garbage takes a fifth of the time

# the package next to these rules, also where another clone's is installed
package = Path(inspect.currentframe().f_code.co_filename).resolve().parent.parent
sys.path.insert(0, str(package))
if "retort" in sys.modules and not Path(sys.modules["retort"].__file__).is_relative_to(package):
    for name in [name for name in sys.modules if name.partition(".")[0] == "retort"]:
        del sys.modules[name]

from snakemake.logging import logger

from retort.job.planned_run import check_latest
from retort.plan.rule import one_of
from retort.plan.shared_activations import settings_of_activations
from retort.plan.sharing import settings_of_group
from retort.run.dry_run import LOGGER, is_short
from retort.run.repairs import compare_with_known, end_once, look_once
from retort.run.run_folder import check_disk, check_versions
from retort.run.workflow import Run
from retort.errors import explain_error
from retort.specs.config import origins_of


@contextlib.contextmanager
def in_one_line():
    """End with a line about an error that the user can correct, such as a full disk; Snakemake's have a traceback."""
    try:
        yield
    except Exception as error:
        line = explain_error(error)
        if line is None:
            raise
        logger.error(line)
        sys.exit(1)


files = ["config.yaml", *map(str, workflow.overwrite_configfiles)]
with in_one_line():  # before Snakemake reads the files: its messages name neither file nor line
    check_versions()
    check_disk()
    origins = origins_of(files, workflow.config_settings.config)


configfile: "config.yaml"


with in_one_line():
    said = workflow.output_settings
    listed = not (is_short(said) and LOGGER in said.log_handler_settings)
    check_latest(sys.argv)
    compare_with_known()
    study = Run(config, origins, said.dryrun, listed)
plan, reads, prints = study.plan, study.reads, study.prints
settings, kept, asks, priority = plan.at, plan.kept, study.resources.of, study.priority

is_local = workflow.nodes is None  # a cluster has GPUs of its own
if is_local and "gpu" not in workflow.global_resources and (number := study.gpus()):
    workflow.register_resource("gpu", number)  # as `--resources gpu=...`


onstart:
    gc.enable()
    end_once()
    look_once(workflow.scheduler)
    with in_one_line():
        study.begin(workflow.dag_settings.targets, workflow.dag.needrun_jobs())


onsuccess:
    with in_one_line():
        study.succeed(workflow.dag_settings.targets)


onerror:
    study.fail(workflow.dag_settings.targets)


wildcard_constraints:
    task=one_of(plan.study.tasks),
    corpus=one_of(plan.study.corpora),
    tokenizer=one_of(plan.study.tokenizers),
    paper=one_of(plan.study.papers),
    student="[A-Za-z0-9-]+",
    seeds=r"\d+(-\d+)*",
    seed=r"\d+",
    part=r"\d+",
    parts=r"\d+",
    table="table[a-z0-9-]*",
    figure="figure[a-z0-9-]*",
