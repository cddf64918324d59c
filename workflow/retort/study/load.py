"""The study: all tasks, models, protocols, students, tables and figures, read from YAML and checked together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retort.errors import StudyError
from retort.specs.config import Config
from retort.specs.loading import Problems
from retort.specs.scale import Scale
from retort.study.check_entries import check_data, check_scaled, check_sources, check_students
from retort.study.check_exhibits import (
    check_across,
    check_answers,
    check_exhibits,
    check_replications,
    check_statements,
)
from retort.study.distillations import add_distillations
from retort.study.scaled_study import scale_study
from retort.study.study import Study
from retort.study.yaml_files import read_yaml_files

Check = Callable[[Study, Problems], None]


def check_together(study: Study, problems: Problems) -> None:
    """Check what files say of each other; each must be right by itself."""
    checks = (
        check_data,
        check_students,
        check_exhibits,
        check_across,
        check_answers,
        check_replications,
        check_statements,
    )
    for check in checks:
        problems.add_all(check(study))


def read_files(config: Config) -> tuple[Study, Problems]:
    """Read the study and check all of its files, each by itself and then together; return it with every problem found.

    Sources that are not available are not checked here.
    """
    problems = Problems(*config.study_folders)
    study = read_yaml_files(config, problems)
    if not problems.lines:
        check_together(study, problems)
    return study, problems


def read_study(config: Config, *checks: Check) -> tuple[Study, list[str]]:
    """Read the study, apply the scale, and check the sources; return it with every problem found.

    If there are problems, the study may lack entries.

    Args:
        config: the checked configuration.
        *checks: further checks of the study as its files have it; they run only if no other problem was found.
    """
    study, problems = read_files(config)
    for check_further in checks if not problems.lines else ():
        check_further(study, problems)
    if not problems.lines:
        scale_study(study)
        problems.add_all(add_distillations(study))
        problems.add_all(check_scaled(study))
        problems.add_all(check_sources(study))
    return study, problems.lines


def open_written(config: Config) -> Study:
    """Return the study as its files describe it, without the changes that a scale makes.

    It is meant for reading, not for running, so no source needs to be available.

    Raises:
        StudyError: the files have problems; the error lists every problem of every file.
    """
    study, problems = read_files(config)
    if problems.lines:
        raise StudyError(problems.lines)
    return study


def open_whole(config: Config) -> Study:
    """Return the same as `open_written`, with every paper in the study's folders, whatever `papers` names.

    Raises:
        StudyError: the files have problems; the error lists every problem of every file.
    """
    return open_written(with_every_paper(config))


def whole_of(study: Study) -> Study:
    """Return the study with every paper in its folder, as its files describe it: itself, if it is that already."""
    has_all = set(study.papers) == set(with_every_paper(study.config).papers or ())
    return study.written if has_all else open_whole(study.config)


def with_every_paper(config: Config) -> Config:
    """Return the configuration with every paper in the study's folders, whatever `papers` names."""
    papers = sorted(path.parent.name for path in config.files("papers/*/paper.yaml"))
    return config.model_copy(update={"papers": papers or config.papers})


def open_study(config: Config, *checks: Check) -> Study:
    """Read the study and return it if it has no problems.

    Args:
        config: the checked configuration.
        *checks: further checks, as of `read_study`.

    Raises:
        StudyError: the files have problems; the error lists every problem of every file.
    """
    study, problems = read_study(config, *checks)
    if problems:
        raise StudyError(problems)
    return study


# what is checked once each file is right by itself, in this order
LATER = (
    "what files say of each other", "settings that tables show", "students at each scale", "sources of the run"
)  # fmt: skip


def check_files(config: Config, *checks: Check) -> tuple[Study, list[str], Sequence[str]]:
    """Read the whole study; return it, every problem of every file, and what is checked once these are mended.

    Args:
        config: names the study's folders; its papers and its scale do not matter.
        *checks: further checks of the study, of settings.
    """
    papers = sorted(path.name for path in config.files("papers/*") if path.is_dir())
    problems = Problems(*config.study_folders)
    study = read_yaml_files(config.model_copy(update={"papers": papers or config.papers}), problems)
    for number, step in enumerate([(check_together,), checks, (check_scales,)]):
        if problems.lines:
            return study, problems.lines, LATER[number:]
        for check in step:
            check(study, problems)
    return study, problems.lines, LATER[3:]


def check_scales(study: Study, problems: Problems) -> None:
    """Check that students can be trained at the sizes that each scale gives them."""
    for name, scale in study.scales.items():
        scaled = at_scale(study, name, scale)
        scale_study(scaled)
        problems.add_all(add_distillations(scaled))
        problems.add_all(check_scaled(scaled))


def at_scale(study: Study, name: str, scale: Scale) -> Study:
    """Return a copy of the study under another scale; scaling the copy does not change the study."""
    scaled = study.copied()
    scaled.config, scaled.scale = study.config.model_copy(update={"scale": name}), scale
    scaled.unrun, scaled.not_run, scaled.untuned = {}, {}, set()
    return scaled
