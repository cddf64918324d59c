"""Where the files of a source are: what the rule fetch_source needs. No setting of a result depends on the place."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from retort.data.sources import link_again
from retort.plan import resolve_data
from retort.settings import FetchSettings
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study


def location_of(config: dict[str, Any], source: str) -> FetchSettings:
    """Return what is needed to fetch a source.

    The params of the rule only identify the content, so moved files are not fetched again.

    Args:
        config: the configuration.
        source: the name of the source.
    """
    return resolve_data.fetched(_study(json.dumps(config, sort_keys=True, default=str)), source)


@functools.lru_cache(maxsize=1)
def _study(config: str) -> Study:
    """Return the study of a configuration, read once: a rehearsal makes all of its sources in one process."""
    return open_study(read_config(json.loads(config)))


def link_moved_folders(study: Study) -> None:
    """Renew the links to the files of each user's folder that was moved since it was fetched."""
    for name in study.sources:
        output = Path(f"results/sources/{name}")
        if output.is_dir():
            link_again(resolve_data.fetched(study, name), output)
