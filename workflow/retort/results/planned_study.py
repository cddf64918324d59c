"""Open the study of a run in its jobs: a server of forks opens it once, for all jobs that it forks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from retort.job import planned_run
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study

_opened: list[tuple[dict[str, Any], Study]] = []  # configurations with their studies


def planned_study(config: dict[str, Any]) -> Study:
    """Return the study of a configuration, which nobody changes.

    Raises:
        StudyError: the files have problems; the error lists every problem of every file.
    """
    return next((study for of, study in _opened if of == config), None) or open_study(read_config(config))


@contextlib.contextmanager
def kept_open(config: dict[str, Any], study: Study) -> Iterator[None]:
    """Keep the study of a configuration for the jobs that a block runs in this process."""
    _opened.append((config, study))
    try:
        yield
    finally:
        _opened.pop()


def open_ahead() -> None:
    """Open the study of the run that has started this process, if one has; its files do not change any more."""
    if config := planned_run.configuration():
        _opened.append((config, open_study(read_config(config))))
