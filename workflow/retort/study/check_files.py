"""Check every YAML file of a study, whatever the configuration names: all papers, at every scale."""

from __future__ import annotations

import dataclasses

from retort.specs.config import Config
from retort.specs.load import Problems
from retort.specs.scale import Scale
from retort.study.check import Checker, check_scale
from retort.study.check_scaled import check_scaled
from retort.study.load import Check, read_files, read_scales
from retort.study.scaled_study import scale_study
from retort.study.study import Study


def check_files(config: Config, *checks: Check) -> tuple[Study, list[str]]:
    """Read the whole study and return it with every problem of every file.

    Args:
        config: names the study's folder; its papers and its scale do not matter.
        *checks: further checks of the study; they run only if no other problem was found.
    """
    papers = sorted(path.name for path in (config.folder / "papers").glob("*") if path.is_dir())
    study, problems = read_files(config.model_copy(update={"papers": papers or config.papers}))
    scales = read_scales(config, Problems(config.folder)) if (config.folder / "scales").is_dir() else {}
    for name, scale in scales.items():
        check_scale(study, name, scale, Checker(study, problems).known)
    for check_further in checks if not problems.lines else ():
        check_further(study, problems)
    for name, scale in scales.items() if not problems.lines else ():
        scaled = at_scale(study, name, scale)
        scale_study(scaled)
        check_scaled(scaled, problems)
    return study, problems.lines


def at_scale(study: Study, name: str, scale: Scale) -> Study:
    """Return a copy of the study under another scale; scaling the copy does not change the study."""
    return dataclasses.replace(
        study,
        config=study.config.model_copy(update={"scale": name}),
        scale=scale,
        students=dict(study.students),
        teachers=dict(study.teachers),
        protocols=dict(study.protocols),
        not_run={},
    )
