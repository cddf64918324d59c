"""Make one table: collect its cells, write them as a tidy CSV, read that back, and print it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from retort.jobs import Job
from retort.registry import Registry
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables import compare
from retort.tables.collect import Record, Scores, read_profiles, read_scores
from retort.tables.layout import agreement, lay_out
from retort.tables.lines import table_lines
from retort.tables.render import formats
from retort.tables.tidy import Line, Status, read, write
from retort.tables.unmeasured import once
from retort.tables.words import count_lines, settings_lines

Collector = Callable[[Study, str, str, Scores, dict[str, Record]], list[Line]]
collectors: Registry[Collector] = Registry("kind of table")


collectors.register("scores")(table_lines)
collectors.register("profiles")(table_lines)
collectors.register("settings")(settings_lines)
collectors.register("counts")(count_lines)


@collectors.register("paired-tests")
def _tests(study: Study, paper: str, name: str, scores: Scores, profiles: dict[str, Record]) -> list[Line]:
    return compare.test_lines(study, paper, name, scores)


def write_text(path: Path | str, text: str) -> None:
    """Write a text as UTF-8 with Unix line ends; missing folders are made."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8", newline="\n")


def make_table(
    job: Job,
    config: dict[str, Any],
    paper: str,
    table: str,
    scores: Iterable[str],
    profiles: Iterable[str],
    csv: str,
    renders: Mapping[str, str],
) -> None:
    """Write the tidy CSV of a table and each requested rendering of it.

    Raises:
        RetortError: a score or profile was made with other settings than the study's.
    """
    study = open_study(read_config(config))
    spec: Any = study.exhibits[paper, table]
    found = collectors[spec.kind](study, paper, table, read_scores(study, scores), read_profiles(study, profiles))
    write(csv, found)
    lines = read(csv)
    sheet = once(lay_out(study, paper, table, lines), lines)
    for kind, path in renders.items():
        write_text(path, formats[kind](sheet))
    agrees, judged = agreement(spec, lines)
    odd = sum(line.status is not Status.OK for line in lines)
    said = [f"{len(lines)} cells"]
    said += [f"{odd} without a value"] if odd else []
    said += [f"{agrees} of {judged} agree with the published"] if judged else []
    job.say(", ".join(said))
