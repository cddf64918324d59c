"""The files of the configuration, read strictly: Snakemake keeps the last of two equal keys and reads 010 as 8."""

import sys
from pathlib import Path

own = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parent.resolve()
sys.path.insert(0, str(own))
# Snakemake imports every logger plugin when it starts, and ours may have imported another clone's package
if "retort" in sys.modules and not Path(sys.modules["retort"].__file__).is_relative_to(own):
    for name in [name for name in sys.modules if name.partition(".")[0] == "retort"]:
        del sys.modules[name]

from retort.errors import RetortError
from retort.specs.config import content_of

origins = {}  # key of the configuration -> the file or option that sets it
files = ["config.yaml", *workflow.overwrite_configfiles]
for path in map(Path, files if workflow.is_main_process else []):  # jobs have the run's own copy
    try:
        content = content_of(path) if path.exists() else None
    except RetortError as error:
        raise WorkflowError(str(error)) from None
    if isinstance(content, dict):
        origins |= dict.fromkeys(content, path.name)
origins |= dict.fromkeys(workflow.config_settings.config, "--config")
