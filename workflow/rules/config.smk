"""The files of the configuration, read strictly: Snakemake keeps the last of two equal keys and reads 010 as 8."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parent))

from retort.errors import RetortError
from retort.specs.config import content_of

for path in map(Path, ["config.yaml", *workflow.overwrite_configfiles]):
    try:
        content_of(path) if path.exists() else None
    except RetortError as error:
        raise WorkflowError(str(error)) from None
