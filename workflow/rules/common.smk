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

from retort.engine.repairs import look_once
from retort.engine.versions import check_versions
from retort.engine.workflow import Run
from retort.errors import RetortError
from retort.specs.config import origins_of


@contextlib.contextmanager
def told_in_a_line():
    """Let Snakemake print a mistake of the user as a line, without a traceback."""
    try:
        yield
    except RetortError as error:
        raise WorkflowError(str(error)) from None


with told_in_a_line():  # before Snakemake reads the files: its messages name neither file nor line
    check_versions()
    files = ["config.yaml", *map(str, workflow.overwrite_configfiles)]
    origins = origins_of(files, workflow.config_settings.config)


configfile: "config.yaml"


with told_in_a_line():
    study = Run(config, origins, is_dry=workflow.output_settings.dryrun)
rule_of, needs = study.rules, study.needs


onstart:
    with told_in_a_line():
        look_once(workflow.scheduler)
        study.begin(workflow.dag_settings.targets)


onsuccess:
    with told_in_a_line():
        study.succeed(workflow.dag_settings.targets)


onerror:
    study.fail(workflow.dag_settings.targets)


wildcard_constraints:
    **rule_of.constraints,
