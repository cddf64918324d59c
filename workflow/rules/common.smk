"""The plan of the study, which every rule reads; what is done when a run begins and ends."""

import contextlib
import inspect
import sys
from pathlib import Path

# the package beside these rules, also where another clone's is installed
package = Path(inspect.currentframe().f_code.co_filename).resolve().parent.parent
sys.path.insert(0, str(package))
if "retort" in sys.modules and not Path(sys.modules["retort"].__file__).is_relative_to(package):
    for name in [name for name in sys.modules if name.partition(".")[0] == "retort"]:
        del sys.modules[name]

from retort.run.dry_run import is_short, list_whole, write_short
from retort.run.repairs import look_once
from retort.run.run_folder import check_versions
from retort.run.workflow import Run
from retort.errors import explain_error
from retort.specs.config import origins_of


@contextlib.contextmanager
def in_one_line():
    """Turn an error that the user can correct, such as a full disk, into one of Snakemake's, without a traceback."""
    try:
        yield
    except Exception as error:
        line = explain_error(error)
        if line is None:
            raise
        raise WorkflowError(line) from None


files = ["config.yaml", *map(str, workflow.overwrite_configfiles)]
with in_one_line():  # before Snakemake reads the files: its messages name neither file nor line
    check_versions()
    origins = origins_of(files, workflow.config_settings.config)


configfile: "config.yaml"


with in_one_line():
    listed = not is_short(workflow.output_settings)
    study = Run(config, origins, workflow.output_settings.dryrun, listed)
rule_of, asked = study.rules, study.resources
if not listed:
    write_short({name: rule.kind for name, rule in rule_of.items()})
elif workflow.output_settings.dryrun:
    list_whole()


onstart:
    look_once(workflow.scheduler)
    with in_one_line():
        study.begin(workflow.dag_settings.targets)


onsuccess:
    with in_one_line():
        study.succeed(workflow.dag_settings.targets)


onerror:
    study.fail(workflow.dag_settings.targets)


wildcard_constraints:
    **rule_of.constraints,
