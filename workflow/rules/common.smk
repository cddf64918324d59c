"""The plan of the study, which every rule reads; what is done when a run begins and ends."""

import inspect
import sys
from pathlib import Path

# the package beside these rules, also where another clone's is installed
package = Path(inspect.currentframe().f_code.co_filename).resolve().parent.parent
sys.path.insert(0, str(package))
if "retort" in sys.modules and not Path(sys.modules["retort"].__file__).is_relative_to(package):
    for name in [name for name in sys.modules if name.partition(".")[0] == "retort"]:
        del sys.modules[name]

from retort.engine.dry_run import shorten_dry_run
from retort.engine.repairs import look_once
from retort.engine.run import check_versions
from retort.engine.workflow import Run
from retort.errors import RetortError
from retort.specs.config import origins_of

files = ["config.yaml", *map(str, workflow.overwrite_configfiles)]
try:  # before Snakemake reads the files: its messages name neither file nor line
    check_versions()
    origins = origins_of(files, workflow.config_settings.config)
except RetortError as error:
    raise WorkflowError(str(error)) from None


configfile: "config.yaml"


try:
    study = Run(config, origins, is_dry=workflow.output_settings.dryrun)
except RetortError as error:
    raise WorkflowError(str(error)) from None
rule_of, asked = study.rules, study.resources
shorten_dry_run(workflow.output_settings, {name: rule.kind for name, rule in rule_of.items()})


onstart:
    look_once(workflow.scheduler)
    try:
        study.begin(workflow.dag_settings.targets)
    except RetortError as error:
        raise WorkflowError(str(error)) from None


onsuccess:
    try:
        study.succeed(workflow.dag_settings.targets)
    except RetortError as error:
        raise WorkflowError(str(error)) from None


onerror:
    study.fail(workflow.dag_settings.targets)


wildcard_constraints:
    **rule_of.constraints,
